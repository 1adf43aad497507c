// SPDX-License-Identifier: MIT
//
// vkflash::mpi against the reference. Every rank makes the whole tensors, computes its part, and compares the result of
// all ranks. The exit status is 0 only if every case passes on every rank.
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "cases.hpp"
#include "tensors/tensor_file.hpp"

namespace vkf::test {
namespace {

int failures = 0;

void expect(bool holds, const std::string& name, const std::string& what) {
    if (!holds) {
        std::fprintf(stderr, "failed: %s: %s\n", name.c_str(), what.c_str());
        failures++;
    }
}

struct Inputs {
    explicit Inputs(const VkfProblem& problem)
        : q(shapedLike(problem, problem.q.type, problem.queryHeads, problem.queryRows, problem.headDim)),
          k(shapedLike(problem, problem.k.type, problem.kvHeads, problem.keys, problem.headDim)),
          v(shapedLike(problem, problem.v.type, problem.kvHeads, problem.keys, problem.valueDim)) {
        fillRandom(q, 1);
        fillRandom(k, 2);
        fillRandom(v, 3);
    }
    VkfReferenceInputs forReference(const Case& one) const {
        auto inputs = make<VkfReferenceInputs>();
        inputs.q = q.bytes.data();
        inputs.k = k.bytes.data();
        inputs.v = v.bytes.data();
        inputs.keyLengths = one.keyLengths.data();
        inputs.cuSeqlensQ = one.cuSeqlensQ.data();
        inputs.cuSeqlensK = one.cuSeqlensK.data();
        return inputs;
    }

    Whole q, k, v;
};

void verifyForward(const Case& one, const Inputs& inputs, const Whole& o, const Whole& lse) {
    auto verdict = make<VkfVerdict>();
    auto options = make<VkfReferenceOptions>();
    options.threads = 1;
    const VkfReferenceInputs reference = inputs.forReference(one);
    VkfMessage message{};
    const VkfResult result =
        vkfReferenceVerify(&one.problem, &reference, &options, o.bytes.data(), lse.numbers(), &verdict, &message);
    expect(result == VKF_SUCCESS, one.name, message.text);
    expect(verdict.passed == 1, one.name,
           "o " + std::to_string(verdict.oError) + " of " + std::to_string(verdict.oBound) + ", lse " +
               std::to_string(verdict.lseError) + " of " + std::to_string(verdict.lseBound));
}

// o and lse of the forward pass: of this rank, and of all ranks.
struct Forward {
    explicit Forward(const VkfProblem& problem)
        : o(shapedLike(problem, problem.o.type, problem.queryHeads, problem.queryRows, problem.valueDim)),
          lse(shapedLike(problem, VKF_TYPE_F32, problem.queryHeads, problem.queryRows, 1)) {}

    Whole o, lse;
    Bytes partO{}, partLse{};
};

Forward testForward(mpi::Ranks& ranks, const Case& one, const Inputs& inputs) {
    mpi::Attention attention(ranks, one.problem, one.split, one.lengths());
    const mpi::Part& part = attention.part();
    const Bytes q = partOf(inputs.q, part.rows);
    const Bytes k = partOf(inputs.k, part.keys);
    const Bytes v = partOf(inputs.v, part.keys);
    attention.upload({q.data(), k.data(), v.data()});
    Forward result(one.problem);
    result.partO.resize(partOf(result.o, part.rows).size());
    result.partLse.resize(partOf(result.lse, part.rows).size());
    Bytes first;
    for (int i = 0; i < 2; ++i) {
        attention.run();
        attention.download({result.partO.data(), reinterpret_cast<float*>(result.partLse.data())});
        expect(i == 0 || result.partO == first, one.name, "a second run gives other bits");
        first = result.partO;
    }
    collect(result.o, result.partO, part.rows);
    collect(result.lse, result.partLse, part.rows);
    if (ranks.rank() == 0) {
        verifyForward(one, inputs, result.o, result.lse);
    }
    return result;
}

void expectGradient(const VkfGradientError& error, const Case& one, const char* name) {
    expect(error.error <= error.bound, one.name,
           std::string(name) + " " + std::to_string(error.error) + " of " + std::to_string(error.bound));
}

void testBackward(mpi::Ranks& ranks, const Case& one, const Inputs& inputs, const Forward& forward) {
    auto problem = make<VkfBackwardProblem>();
    problem.forward = &one.problem;
    problem.dout = one.problem.o;
    problem.dq = problem.dk = problem.dv = one.problem.q;
    mpi::Backward backward(ranks, problem, one.split, one.lengths());
    const mpi::Part& part = backward.part();
    Whole dout = forward.o;
    fillRandom(dout, 4);
    const Bytes q = partOf(inputs.q, part.rows);
    const Bytes k = partOf(inputs.k, part.keys);
    const Bytes v = partOf(inputs.v, part.keys);
    const Bytes partDout = partOf(dout, part.rows);
    backward.upload({q.data(), k.data(), v.data()},
                    {forward.partO.data(), reinterpret_cast<const float*>(forward.partLse.data()), partDout.data()});
    std::array<Whole, 3> whole = {inputs.q, inputs.k, inputs.v};
    std::array<Bytes, 3> own = {q, k, v};
    std::array<Bytes, 3> first;
    for (int i = 0; i < 2; ++i) {
        backward.run();
        backward.download({own[0].data(), own[1].data(), own[2].data()});
        expect(i == 0 || own == first, one.name, "a second backward pass gives other bits");
        first = own;
    }
    collect(whole[0], own[0], part.rows);
    collect(whole[1], own[1], part.keys);
    collect(whole[2], own[2], part.keys);
    if (ranks.rank() != 0) {
        return;
    }
    auto outputs = make<VkfBackwardOutputs>();
    outputs.dq = whole[0].bytes.data();
    outputs.dk = whole[1].bytes.data();
    outputs.dv = whole[2].bytes.data();
    auto more = make<VkfReferenceBackwardInputs>();
    more.dout = dout.bytes.data();
    more.o = forward.o.bytes.data();
    more.lse = forward.lse.numbers();
    auto options = make<VkfReferenceOptions>();
    options.threads = 1;
    auto verdict = make<VkfBackwardVerdict>();
    const VkfReferenceInputs reference = inputs.forReference(one);
    VkfMessage message{};
    const VkfResult result =
        vkfReferenceVerifyBackward(&problem, &reference, &more, &options, &outputs, &verdict, &message);
    expect(result == VKF_SUCCESS, one.name, message.text);
    expectGradient(verdict.dq, one, "dq");
    expectGradient(verdict.dk, one, "dk");
    expectGradient(verdict.dv, one, "dv");
}

void testDecode(mpi::Ranks& ranks, const Case& one, mpi::Deal deal) {
    const Inputs inputs(one.problem);
    const auto ranksCount = static_cast<uint32_t>(ranks.size());
    const auto rank = static_cast<uint32_t>(ranks.rank());
    const uint32_t count = mpi::keysDealt(deal, one.problem.keys, ranksCount, rank);
    const uint32_t first = mpi::firstKeyDealt(deal, one.problem.keys, ranksCount, rank);
    const auto cacheOf = [&](const Whole& tensor) {
        Bytes part;
        for (uint64_t head = 0; head < tensor.batch * tensor.heads; ++head) {
            for (uint32_t i = 0; i < count; ++i) {
                const uint64_t key = first + uint64_t{i} * (deal == mpi::Deal::striped ? ranksCount : 1);
                const std::byte* row = tensor.bytes.data() + (head * tensor.rows + key) * tensor.rowBytes();
                part.insert(part.end(), row, row + tensor.rowBytes());
            }
        }
        return part;
    };
    mpi::Decode decode(ranks, one.problem, deal);
    decode.uploadCache(cacheOf(inputs.k).data(), cacheOf(inputs.v).data());
    decode.uploadRows(inputs.q.bytes.data(), one.keyLengths.data());
    decode.run();
    Forward result(one.problem);
    decode.download(result.o.bytes.data(), reinterpret_cast<float*>(result.lse.bytes.data()));
    verifyForward(one, inputs, result.o, result.lse);
}

// Every rank must throw an error that contains the text.
template <typename Work> void expectError(const std::string& name, const std::string& text, const Work& work) {
    std::string got = "no error";
    try {
        work();
    } catch (const host::Error& error) {
        got = error.what();
    }
    expect(got.find(text) != std::string::npos, name, got);
}

void testRefusals(mpi::Ranks& ranks) {
    const auto create = [&](const VkfProblem& problem) { mpi::Attention(ranks, problem, {}, {}); };
    const VkfProblem good = selectedCases(1).front().problem;
    VkfProblem problem = good;
    enable(problem, VKF_USE_SINKS);
    expectError("sinks", "rank 0: VKF_USE_SINKS does not work over ranks", [&] { create(problem); });
    problem = good;
    mpi::Split split;
    split.headGroups = 3;
    expectError("groups", "rank 0: split.headGroups is 3, which does not divide the 2 KV heads",
                [&] { mpi::Attention(ranks, problem, split, {}); });
    split.headGroups = 2;
    enable(problem, VKF_USE_ALIBI);
    expectError("groups with ALiBi", "rank 0: split.headGroups: ALiBi with its standard slopes",
                [&] { mpi::Attention(ranks, problem, split, {}); });
    if (ranks.size() > 1) {
        problem = good;
        problem.headDim = ranks.rank() == 1 ? 24 : 16;
        expectError("head dimensions", "the ranks differ: rank 0 has headDim=16, rank 1 has headDim=24",
                    [&] { create(problem); });
        expectError("one rank", "rank 1: broken", [&] {
            ranks.together([&] {
                if (ranks.rank() == 1) {
                    throw host::Error(VKF_ERROR_INVALID_ARGUMENT, "broken");
                }
            });
        });
    }
    create(good); // the ranks go on after an error
}

// Kernels of a chunk keep 32,768 rows of all heads, and groups divide the KV heads.
void testGroups() {
    const auto groupsOf = [](uint32_t heads, uint32_t kvHeads, uint32_t rows, mpi::Distribution distribution,
                             bool backward) {
        VkfProblem problem = selectedCases(1).front().problem;
        problem.batch = 1;
        problem.queryHeads = heads;
        problem.kvHeads = kvHeads;
        problem.queryRows = problem.keys = rows;
        return mpi::chooseHeadGroups(problem, {distribution}, 2, backward);
    };
    constexpr mpi::Distribution zigzag = mpi::Distribution::zigzag;
    expect(groupsOf(16, 16, 131072, zigzag, false) == 8, "groups", "forward");
    expect(groupsOf(16, 16, 131072, zigzag, true) == 16, "groups", "backward");
    expect(groupsOf(32, 8, 65536, zigzag, false) == 8, "groups", "GQA");
    expect(groupsOf(16, 16, 16384, mpi::Distribution::contiguous, false) == 4, "groups", "few rows");
    expect(groupsOf(16, 16, 2048, zigzag, false) == 1, "groups", "fewer rows");
    expect(groupsOf(7, 7, 1048576, zigzag, false) == 7, "groups", "7 heads");
}

// A rank has its part, two blocks of k and v, up to four times o of its part in fp32 with lse, and little else.
void testMemory(mpi::Ranks& ranks) {
    Case one = selectedCases(1).front();
    one.name = "memory";
    one.split.headGroups = 1;
    one.problem.queryRows = one.problem.keys = 4096;
    const auto count = static_cast<uint64_t>(ranks.size());
    const uint64_t rows = uint64_t{one.problem.batch} * one.problem.queryHeads * one.problem.queryRows / count;
    const uint64_t keys = uint64_t{one.problem.batch} * one.problem.kvHeads * one.problem.keys / count;
    const uint64_t blockBytes = keys * (one.problem.headDim + one.problem.valueDim) * sizeof(float);
    const uint64_t oBytes = rows * (one.problem.valueDim + 1) * sizeof(float);
    const uint64_t part = rows * one.problem.headDim * sizeof(float) + blockBytes + oBytes;
    constexpr uint64_t scratch = 64 << 10;
    ranks.resetPeakBytes();
    const mpi::Attention attention(ranks, one.problem, one.split, one.lengths());
    const uint64_t most = part + 2 * blockBytes + 4 * oBytes + scratch;
    expect(ranks.peakBytes() > part && ranks.peakBytes() <= most, one.name,
           std::to_string(ranks.peakBytes()) + " bytes, allowed " + std::to_string(most));
}

// Says which case a rank waits in if a test does not end.
void begin(const mpi::Ranks& ranks, const Case& one) {
    if (ranks.rank() == 0) {
        std::printf("%s\n", one.name.c_str());
        std::fflush(stdout);
    }
}

void testAttention(mpi::Ranks& ranks, const std::vector<Case>& cases) {
    for (const Case& one : cases) {
        begin(ranks, one);
        try {
            const Inputs inputs(one.problem);
            const Forward forward = testForward(ranks, one, inputs);
            if (one.backward) {
                testBackward(ranks, one, inputs, forward);
            }
        } catch (const host::Error& error) {
            expect(false, one.name, error.what());
        }
    }
}

void testDecode(mpi::Ranks& ranks, const std::vector<Case>& cases) {
    for (const Case& one : cases) {
        begin(ranks, one);
        for (const mpi::Deal deal : {mpi::Deal::contiguous, mpi::Deal::striped}) {
            try {
                testDecode(ranks, one, deal);
            } catch (const host::Error& error) {
                expect(false, one.name, error.what());
            }
        }
    }
}

// `what`: "selection", or "product", which takes minutes.
int runAll(std::string_view what) {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    host::DeviceOptions options;
    options.quirks = VKF_QUIRK_ROLLED_SCALAR_LOOPS;
    options.layoutSource = host::LayoutSource::builtIn;
    options.validation = what == "selection" && size == 2; // the layer makes each call slower
    options.onValidationMessage = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
    mpi::Ranks ranks(MPI_COMM_WORLD, options);
    const auto count = static_cast<uint32_t>(size);
    expect(ranks.ranksOnDevice() >= 1 && ranks.ranksOnDevice() <= count, "device", "the ranks miscount who uses it");
    if (what == "product") {
        const std::vector<VkfType> types = {VKF_TYPE_F32, VKF_TYPE_F16};
        testAttention(ranks, productCases(count, types));
        testDecode(ranks, decodeProduct(count, types));
        return failures;
    }
    testAttention(ranks, selectedCases(count));
    if (size > 2) {
        testDecode(ranks, selectedDecode());
    }
    testMemory(ranks);
    testGroups();
    testRefusals(ranks);
    expect(ranks.validationMessageCount() == 0, "Vulkan", "validation messages");
    return failures;
}

// Prints whether the numbers of two .npy files are equal but for roundings.
int compareFiles(const char* one, const char* other) {
    const tools::Tensor a = tools::loadNpy(one);
    const tools::Tensor b = tools::loadNpy(other);
    const VkfType type = a.type == tools::ElementType::f16 ? VKF_TYPE_F16 : VKF_TYPE_F32;
    const double most = type == VKF_TYPE_F16 ? 4e-3 : 1e-5;
    bool equal = a.shape == b.shape && a.type == b.type;
    for (uint64_t i = 0; equal && i < a.bytes.size() / vkfTypeBytes(type); ++i) {
        const double difference = vkfLoadElement(type, a.bytes.data(), i) - vkfLoadElement(type, b.bytes.data(), i);
        equal = std::abs(difference) <= most;
    }
    std::printf("%s\n", equal ? "equal" : "different");
    return equal ? 0 : 1;
}

} // namespace
} // namespace vkf::test

int main(int argc, char** argv) {
    if (argc == 4 && std::string_view(argv[1]) == "--compare") {
        return vkf::test::compareFiles(argv[2], argv[3]);
    }
    MPI_Init(&argc, &argv);
    int failed = 0;
    try {
        failed = vkf::test::runAll(argc > 1 ? argv[1] : "selection");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "failed: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int all = 0;
    MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
