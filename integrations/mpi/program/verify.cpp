// SPDX-License-Identifier: MIT
//
// vkflash_mpi verify: computes random tensors of a shape over the ranks and compares the result with the CPU reference.
// Each rank makes the whole tensors, and the first one collects the whole result.
#include <cstdio>
#include <memory>

#include "cli/error.hpp"
#include "cli/verdict.hpp"
#include "commands.hpp"
#include "part_files.hpp"
#include "session.hpp"
#include "tensors/random_tensors.hpp"

namespace vkf::mpi::program {
namespace {

struct VerifyOptions {
    tools::ShapeOptions shape;
    tools::MathOptions math;
    tools::DeviceFlags device;
    SplitOptions split;
    uint64_t seed = 1;
    uint32_t sampleRows = 0; // 0 = all
    bool backward = false;
    std::string deal; // empty = no decode
};

FileLayout layoutOf(const VkfProblem& problem, VkfTensorRole role, uint64_t rowBytes) {
    const VkfTensorLayout layout = vkf::layoutOf(problem, role);
    return {problem.batch, layout.heads, layout.rows, rowBytes};
}

uint64_t rowBytesOf(const VkfProblem& problem, VkfTensorRole role) {
    const VkfTensorLayout layout = vkf::layoutOf(problem, role);
    return layout.dim * vkfTypeBytes(layout.type);
}

// Collects the parts of all ranks on the first one. Every byte comes from one rank.
void collect(std::span<std::byte> whole, const FileLayout& layout, const std::vector<Chunk>& chunks,
             std::span<const std::byte> part) {
    Bytes own(whole.size());
    placePart(own, layout, chunks, part);
    constexpr size_t most = size_t{1} << 30;
    for (size_t at = 0; at < own.size(); at += most) {
        const auto bytes = static_cast<int>(std::min(most, own.size() - at));
        MPI_Reduce(own.data() + at, whole.data() + at, bytes, MPI_BYTE, MPI_BOR, 0, MPI_COMM_WORLD);
    }
}

// The tensors of the whole call, and what the ranks computed of it.
struct Whole {
    Whole(const VkfProblem& problem, uint64_t seed) : tensors(problem, seed) {}
    tools::RandomTensors tensors;
    Bytes o{}, lse{}; // of this rank
};

PartInputs inputsOf(const VkfProblem& problem, const Whole& whole, const Part& part, std::array<Bytes, 3>& memory) {
    memory[0] = partOf(whole.tensors.q, layoutOf(problem, VKF_TENSOR_Q, rowBytesOf(problem, VKF_TENSOR_Q)), part.rows);
    memory[1] = partOf(whole.tensors.k, layoutOf(problem, VKF_TENSOR_K, rowBytesOf(problem, VKF_TENSOR_K)), part.keys);
    memory[2] = partOf(whole.tensors.v, layoutOf(problem, VKF_TENSOR_V, rowBytesOf(problem, VKF_TENSOR_V)), part.keys);
    return {memory[0].data(), memory[1].data(), memory[2].data()};
}

void verifyForward(const VerifyOptions& options, Ranks& ranks, const VkfProblem& problem, const Split& split,
                   Whole& whole) {
    Attention attention(ranks, problem, split, {});
    const Part& part = attention.part();
    std::array<Bytes, 3> memory;
    attention.upload(inputsOf(problem, whole, part, memory));
    const RunReport report = runWithProgress("attention", attention);
    const FileLayout oLayout = layoutOf(problem, VKF_TENSOR_O, rowBytesOf(problem, VKF_TENSOR_O));
    const FileLayout lseLayout = layoutOf(problem, VKF_TENSOR_O, sizeof(float));
    whole.o.resize(oLayout.partBytes(part.rows));
    whole.lse.resize(lseLayout.partBytes(part.rows));
    attention.download({whole.o.data(), reinterpret_cast<float*>(whole.lse.data())});
    collect(whole.tensors.o, oLayout, part.rows, whole.o);
    collect(std::as_writable_bytes(std::span(whole.tensors.lse)), lseLayout, part.rows, whole.lse);
    together(ranks, [&] {
        if (ranks.rank() == 0) {
            auto plan = make<VkfPlanInfo>();
            plan.productType = attention.productType();
            const host::HostTensors tensors = whole.tensors.pointers(problem);
            const VkfVerdict verdict = tools::verifyResult(problem, tensors, plan, options.sampleRows);
            tools::requirePassed(verdict, fmt::format("--seed {}", options.seed));
            fmt::print("device  {}{}\nplan    {}\nmethod  {}: {}\ntime    {:.3f} ms (first run)\n{}",
                       ranks.deviceSummary().name, sharedText(ranks), attention.description(),
                       methodName(attention.method().method), attention.method().reason, report.seconds * 1e3,
                       tools::verdictText(verdict, true));
        }
    });
}

void verifyBackward(const VerifyOptions& options, Ranks& ranks, const VkfProblem& problem, const Split& split,
                    Whole& whole) {
    tools::RandomGradients random(problem, options.seed, 0);
    enable(random.problem, VKF_USE_DLSE, false);
    Backward backward(ranks, random.problem, split, {});
    const Part& part = backward.part();
    std::array<Bytes, 3> memory;
    const PartInputs inputs = inputsOf(problem, whole, part, memory);
    const FileLayout doutLayout = layoutOf(
        problem, VKF_TENSOR_O, vkf::layoutOf(problem, VKF_TENSOR_O).dim * vkfTypeBytes(random.problem.dout.type));
    const Bytes dout = partOf(random.dout, doutLayout, part.rows);
    backward.upload(inputs, {whole.o.data(), reinterpret_cast<const float*>(whole.lse.data()), dout.data()});
    const RunReport report = runWithProgress("backward pass", backward);
    backward.download({memory[0].data(), memory[1].data(), memory[2].data()});
    collect(random.dq, layoutOf(problem, VKF_TENSOR_Q, rowBytesOf(problem, VKF_TENSOR_Q)), part.rows, memory[0]);
    collect(random.dk, layoutOf(problem, VKF_TENSOR_K, rowBytesOf(problem, VKF_TENSOR_K)), part.keys, memory[1]);
    collect(random.dv, layoutOf(problem, VKF_TENSOR_V, rowBytesOf(problem, VKF_TENSOR_V)), part.keys, memory[2]);
    together(ranks, [&] {
        if (ranks.rank() == 0) {
            auto info = make<VkfBackwardInfo>();
            info.productType = backward.productType();
            const host::HostGradients gradients = {random.dout.data(), nullptr, random.dq.data(), random.dk.data(),
                                                   random.dv.data()};
            const VkfBackwardVerdict verdict = tools::verifyGradients(random.problem, whole.tensors.pointers(problem),
                                                                      gradients, info, options.sampleRows);
            tools::requirePassed(verdict, fmt::format("--seed {}", options.seed));
            fmt::print("plan    {}\ntime    {:.3f} ms (first run)\n{}", backward.description(), report.seconds * 1e3,
                       tools::verdictText(verdict, gradients));
        }
    });
}

// The keys of this rank, of k or v.
Bytes dealt(std::span<const std::byte> whole, const VkfProblem& problem, VkfTensorRole role, Deal deal,
            const Ranks& ranks) {
    const auto size = static_cast<uint32_t>(ranks.size());
    const auto rank = static_cast<uint32_t>(ranks.rank());
    const FileLayout layout = layoutOf(problem, role, rowBytesOf(problem, role));
    const uint64_t first = firstKeyDealt(deal, problem.keys, size, rank);
    const uint64_t stride = deal == Deal::striped ? size : 1;
    const uint32_t count = keysDealt(deal, problem.keys, size, rank);
    Bytes keys;
    for (uint64_t head = 0; head < layout.batch * layout.heads; ++head) {
        for (uint64_t i = 0; i < count; ++i) {
            const auto row = whole.subspan(layout.offsetOf(head * problem.keys + first + i * stride), layout.rowBytes);
            keys.insert(keys.end(), row.begin(), row.end());
        }
    }
    return keys;
}

void verifyDecode(const VerifyOptions& options, Ranks& ranks, const VkfProblem& problem, Whole& whole) {
    const Deal deal = options.deal == "striped" ? Deal::striped : Deal::contiguous;
    Decode decode(ranks, problem, deal);
    decode.uploadCache(dealt(whole.tensors.k, problem, VKF_TENSOR_K, deal, ranks).data(),
                       dealt(whole.tensors.v, problem, VKF_TENSOR_V, deal, ranks).data());
    decode.uploadRows(whole.tensors.q.data());
    const RunReport report = decode.run();
    decode.download(whole.tensors.o.data(), whole.tensors.lse.data());
    together(ranks, [&] {
        if (ranks.rank() != 0) {
            return; // all ranks have the same result
        }
        auto plan = make<VkfPlanInfo>();
        plan.productType = decode.productType();
        const VkfVerdict verdict =
            tools::verifyResult(problem, whole.tensors.pointers(problem), plan, options.sampleRows);
        tools::requirePassed(verdict, fmt::format("--seed {}", options.seed));
        fmt::print("device  {}{}\nplan    {}\ntime    {:.3f} ms (first run)\n{}", ranks.deviceSummary().name,
                   sharedText(ranks), decode.description(), report.seconds * 1e3, tools::verdictText(verdict, true));
    });
}

void verifyAttention(const VerifyOptions& options, Ranks& ranks, const VkfProblem& problem, Whole& whole) {
    const Split split = splitOf(options.split, problem);
    verifyForward(options, ranks, problem, split, whole);
    if (options.backward) {
        verifyBackward(options, ranks, problem, split, whole);
    }
}

void verify(const VerifyOptions& options) {
    VkfProblem problem = tools::makeProblem(options.shape, options.math);
    enable(problem, VKF_USE_LSE);
    const bool isDecode = !options.deal.empty();
    if (isDecode && options.deal != "contiguous" && options.deal != "striped") {
        tools::failInput("--deal {}: takes one of contiguous, striped", options.deal);
    }
    if (isDecode && options.backward) {
        tools::failInput("--deal {}: decode has no --backward", options.deal);
    }
    Ranks ranks = openRanks(options.device, options.split);
    Whole whole(problem, options.seed);
    if (isDecode) {
        verifyDecode(options, ranks, problem, whole);
    } else {
        verifyAttention(options, ranks, problem, whole);
    }
    together(ranks, [&] {
        if (ranks.validationMessageCount() != 0) {
            tools::fail("validation: {} messages", ranks.validationMessageCount());
        }
    });
    fmt::print("right\n");
}

} // namespace

void addVerifyCommand(CLI::App& program, tools::Action& action) {
    auto options = std::make_shared<VerifyOptions>();
    CLI::App* command = program.add_subcommand(
        "verify", "Computes random tensors of a shape over the ranks and compares the result with the CPU reference.");
    command->footer("mpirun -n 4 vkflash_mpi verify --rows 1000 --dim 128 --causal");
    tools::addShapeOptions(*command, options->shape);
    tools::addMathOptions(*command, options->math);
    addSplitOptions(*command, options->split);
    tools::addDeviceOptions(*command, options->device);
    tools::addTuningOption(*command, options->device.tuning);
    tools::addValue(*command, "--seed", options->seed, "seed of the random numbers");
    command->add_option("--sample-rows", options->sampleRows, "check about this many rows of each head (default: all)");
    command->add_flag("--backward", options->backward, "also compute and check the backward pass");
    command->add_option("--deal", options->deal, "check decode over a cache that is dealt so: contiguous, striped")
        ->type_name("NAME");
    command->callback([options, &action] { action = overRanks([options] { verify(*options); }); });
}

} // namespace vkf::mpi::program
