// SPDX-License-Identifier: MIT
#include "cases.hpp"

namespace vkf::test {
namespace {

VkfProblem base(VkfType type) {
    auto problem = make<VkfProblem>();
    problem.batch = 2;
    problem.queryHeads = 4;
    problem.kvHeads = 2;
    problem.queryRows = problem.keys = 37; // divides by no number of ranks
    problem.headDim = 16;
    problem.valueDim = 8;
    problem.path = VKF_PATH_SCALAR;
    problem.q = problem.k = problem.v = problem.o = dense(type);
    problem.use = VKF_USE_LSE;
    return problem;
}

constexpr mpi::Split contiguousRing = {mpi::Distribution::contiguous, mpi::Method::ring};
constexpr mpi::Split zigzagRing = {mpi::Distribution::zigzag, mpi::Method::ring};
constexpr mpi::Split zigzagMessages = {mpi::Distribution::zigzag, mpi::Method::ring, mpi::Transport::messages};
constexpr mpi::Split exchange = {mpi::Distribution::zigzag, mpi::Method::headExchange};

Case named(const std::string& name, const VkfProblem& problem, const mpi::Split& split, bool backward) {
    Case one;
    one.name = std::string(vkfTypeName(problem.q.type)) + " " + name +
               (split.method == mpi::Method::headExchange
                    ? ", heads"
                    : (split.distribution == mpi::Distribution::zigzag ? ", zigzag" : ", contiguous"));
    one.problem = problem;
    one.split = split;
    one.backward = backward;
    return one;
}

VkfProblem causal(VkfProblem problem) {
    enable(problem, VKF_USE_CAUSAL);
    return problem;
}

// More keys than rows, so that diagonals do not begin at the corner of a chunk.
VkfProblem moreKeys(VkfProblem problem) {
    problem.queryRows = 29;
    return problem;
}

VkfProblem topLeft(VkfProblem problem) {
    problem.alignment = VKF_ALIGNMENT_TOP_LEFT;
    return problem;
}

VkfProblem windowed(VkfProblem problem) {
    enable(problem, VKF_USE_WINDOW);
    problem.window.left = 7;
    problem.window.right = 3;
    return problem;
}

VkfProblem alibi(VkfProblem problem) {
    enable(problem, VKF_USE_ALIBI);
    return problem;
}

VkfProblem fewRows(VkfProblem problem) {
    problem.queryRows = problem.keys = 3;
    return problem;
}

// A sequence without rows, one with fewer rows than chunks.
Case packed(Case one) {
    one.cuSeqlensQ = one.cuSeqlensK = {0, 11, 11, 13, 37};
    one.problem.batch = 4;
    enable(one.problem, VKF_USE_CU_SEQLENS);
    return one;
}

Case keyLengths(Case one) {
    one.keyLengths = {5, 30};
    enable(one.problem, VKF_USE_KEY_LENGTHS);
    return one;
}

} // namespace

// The driver spends a second on each new kernel, and each rank has kernels of its own. So each number of ranks has a
// part of the cases.
std::vector<Case> forwardCases(uint32_t ranks) {
    const VkfProblem f32 = base(VKF_TYPE_F32);
    const VkfProblem f16 = base(VKF_TYPE_F16);
    switch (ranks) {
    case 1:
        return {named("causal", causal(f32), zigzagRing, true)};
    case 2:
        return {named("full", f32, contiguousRing, true),
                named("causal", causal(f16), zigzagMessages, true),
                named("causal", causal(f16), zigzagRing, true),
                named("causal", causal(f16), exchange, true),
                named("causal alibi", alibi(causal(f32)), exchange, false),
                packed(named("packed causal", causal(f32), zigzagRing, true)),
                packed(named("packed window", windowed(f32), exchange, false))};
    case 3:
        return {named("causal", causal(f32), contiguousRing, true), named("causal", causal(f32), zigzagMessages, true),
                named("more keys, causal", causal(moreKeys(f32)), zigzagRing, true),
                named("more keys, top-left causal", topLeft(causal(moreKeys(f32))), contiguousRing, false),
                named("window", windowed(f32), contiguousRing, false)};
    default:
        return {named("causal", causal(f32), zigzagRing, true),
                named("causal", causal(f32), zigzagMessages, true),
                named("3 rows, causal", causal(fewRows(f32)), zigzagRing, true),
                named("window", windowed(f16), zigzagRing, false),
                keyLengths(named("causal, key lengths", causal(f32), contiguousRing, false)),
                packed(named("packed window", windowed(f32), contiguousRing, false)),
                named("alibi", alibi(f32), contiguousRing, false)};
    }
}

std::vector<Case> decodeCases() {
    VkfProblem row = base(VKF_TYPE_F16);
    row.queryRows = 1;
    VkfProblem rows = row;
    rows.queryRows = 3;
    return {named("decode", causal(row), {}, false), keyLengths(named("decode 3 rows", causal(rows), {}, false))};
}

} // namespace vkf::test
