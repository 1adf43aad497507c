// SPDX-License-Identifier: MIT
//
// vkflash::mpi against the reference. Every rank makes the whole tensors, computes its part, and compares the result of
// all ranks. The exit status is 0 only if every case passes on every rank.
#include <cstdio>
#include <cstring>

#include "cases.hpp"

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

void verify(const Case& one, const Inputs& inputs, const Whole& o, const Whole& lse) {
    auto verdict = make<VkfVerdict>();
    auto options = make<VkfReferenceOptions>();
    options.threads = 1;
    const VkfReferenceInputs reference = inputs.forReference(one);
    VkfMessage message{};
    const VkfResult result = vkfReferenceVerify(&one.problem, &reference, &options, o.bytes.data(),
                                                reinterpret_cast<const float*>(lse.bytes.data()), &verdict, &message);
    expect(result == VKF_SUCCESS, one.name, message.text);
    expect(verdict.passed == 1, one.name,
           "o " + std::to_string(verdict.oError) + " of " + std::to_string(verdict.oBound) + ", lse " +
               std::to_string(verdict.lseError) + " of " + std::to_string(verdict.lseBound));
}

void testForward(mpi::Ranks& ranks, const Case& one) {
    const VkfProblem& problem = one.problem;
    const Inputs inputs(problem);
    mpi::Attention attention(ranks, problem, one.split, one.lengths());
    const mpi::Part& part = attention.part();
    const Bytes q = partOf(inputs.q, part.rows);
    const Bytes k = partOf(inputs.k, part.keys);
    const Bytes v = partOf(inputs.v, part.keys);
    mpi::PartInputs own;
    own.q = q.data();
    own.k = k.data();
    own.v = v.data();
    attention.upload(own);
    Whole o = shapedLike(problem, problem.o.type, problem.queryHeads, problem.queryRows, problem.valueDim);
    Whole lse = shapedLike(problem, VKF_TYPE_F32, problem.queryHeads, problem.queryRows, 1);
    Bytes partO(partOf(o, part.rows).size());
    Bytes partLse(partOf(lse, part.rows).size());
    Bytes firstO;
    for (int i = 0; i < 2; ++i) {
        attention.run();
        attention.download({partO.data(), reinterpret_cast<float*>(partLse.data())});
        expect(i == 0 || partO == firstO, one.name, "a second run gives other bits");
        firstO = partO;
    }
    collect(o, partO, part.rows);
    collect(lse, partLse, part.rows);
    if (ranks.rank() == 0) {
        verify(one, inputs, o, lse);
    }
}

int runAll() {
    host::DeviceOptions options;
    options.quirks = VKF_QUIRK_ROLLED_SCALAR_LOOPS;
    options.layoutSource = host::LayoutSource::builtIn;
    mpi::Ranks ranks(MPI_COMM_WORLD, options);
    for (const Case& one : forwardCases(static_cast<uint32_t>(ranks.size()))) {
        try {
            testForward(ranks, one);
        } catch (const host::Error& error) {
            expect(false, one.name, error.what());
        }
    }
    return failures;
}

} // namespace
} // namespace vkf::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int failed = 0;
    try {
        failed = vkf::test::runAll();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "failed: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int all = 0;
    MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
