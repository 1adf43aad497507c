// SPDX-License-Identifier: MIT
#include "cases.hpp"

#include <array>

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

// A rank more than there are rows.
VkfProblem fewRows(VkfProblem problem, uint32_t ranks) {
    problem.queryRows = problem.keys = ranks - 1;
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

// One group of heads after the other.
Case inGroups(Case one, uint32_t groups) {
    one.name += ", " + std::to_string(groups) + " groups";
    one.split.headGroups = groups;
    return one;
}

// A feature of calls: what it does to the base, which has two query heads for each KV head, and odd lengths.
struct Feature {
    const char* name;
    VkfProblem (*of)(VkfProblem problem, uint32_t ranks);
    bool isPacked = false;
};

VkfProblem evenLengths(VkfProblem problem, uint32_t ranks) {
    problem.queryRows = problem.keys = 8 * ranks;
    return problem;
}

const std::array<Feature, 8> features = {{
    {"full", evenLengths},
    {"odd lengths", [](VkfProblem problem, uint32_t) { return moreKeys(problem); }},
    {"causal", [](VkfProblem problem, uint32_t) { return causal(moreKeys(problem)); }},
    {"top-left causal", [](VkfProblem problem, uint32_t) { return topLeft(causal(moreKeys(problem))); }},
    {"window", [](VkfProblem problem, uint32_t) { return windowed(problem); }},
    {"equal heads, causal",
     [](VkfProblem problem, uint32_t) {
         problem.queryHeads = problem.kvHeads;
         return causal(problem);
     }},
    {"packed causal", [](VkfProblem problem, uint32_t) { return causal(problem); }, true},
    {"few rows, causal", [](VkfProblem problem, uint32_t ranks) { return causal(fewRows(problem, ranks)); }},
}};

} // namespace

std::vector<Case> productCases(uint32_t ranks, const std::vector<VkfType>& types) {
    std::vector<Case> cases;
    for (const VkfType type : types) {
        VkfProblem problem = base(type);
        problem.batch = 1;
        problem.kvHeads = ranks; // so that heads can be exchanged
        problem.queryHeads = 2 * ranks;
        for (const Feature& feature : features) {
            for (const mpi::Split& split : {contiguousRing, zigzagRing, exchange}) {
                Case one = named(feature.name, feature.of(problem, ranks), split, true);
                cases.push_back(feature.isPacked ? packed(one) : one);
            }
        }
    }
    return cases;
}

std::vector<Case> decodeProduct(uint32_t ranks, const std::vector<VkfType>& types) {
    std::vector<Case> cases;
    for (const VkfType type : types) {
        for (const Feature& feature : features) {
            for (const uint32_t rows : {1U, 3U}) {
                if (feature.isPacked) {
                    continue; // refused
                }
                VkfProblem problem = feature.of(base(type), ranks);
                problem.queryRows = rows;
                cases.push_back(
                    named("decode, " + std::to_string(rows) + " rows, " + feature.name, problem, {}, false));
            }
        }
    }
    return cases;
}

// The driver spends a second on each new kernel, and each rank has kernels of its own. So each number of ranks has a
// part of the cases that the product does not have.
std::vector<Case> selectedCases(uint32_t ranks) {
    const VkfProblem f32 = base(VKF_TYPE_F32);
    const VkfProblem f16 = base(VKF_TYPE_F16);
    switch (ranks) {
    case 1:
        return {inGroups(named("causal", causal(f32), zigzagRing, true), 2)};
    case 2:
        return {named("full", f32, contiguousRing, true),
                inGroups(named("causal", causal(f16), zigzagMessages, true), 2),
                inGroups(named("causal", causal(f16), zigzagRing, true), 2),
                named("causal", causal(f16), exchange, true),
                named("causal alibi", alibi(causal(f32)), exchange, false),
                packed(named("packed causal", causal(f32), zigzagRing, true)),
                packed(named("packed window", windowed(f32), exchange, false))};
    case 3:
        return {named("causal", causal(f32), contiguousRing, true),
                inGroups(named("causal", causal(f32), zigzagMessages, true), 2),
                inGroups(named("more keys, causal", causal(moreKeys(f32)), zigzagRing, true), 2),
                named("more keys, top-left causal", topLeft(causal(moreKeys(f32))), contiguousRing, false),
                named("window", windowed(f32), contiguousRing, false)};
    case 4:
        return {named("causal", causal(f32), zigzagRing, true),
                inGroups(named("causal", causal(f32), zigzagMessages, true), 2),
                named("3 rows, causal", causal(fewRows(f32, 4)), zigzagRing, true),
                named("window", windowed(f16), zigzagRing, false),
                keyLengths(named("causal, key lengths", causal(f32), contiguousRing, false)),
                packed(named("packed window", windowed(f32), contiguousRing, false)),
                named("alibi", alibi(f32), contiguousRing, false)};
    default: // the driver takes seconds to start so many processes
        return {named("causal", causal(f32), zigzagRing, true)};
    }
}

std::vector<Case> selectedDecode() {
    VkfProblem row = base(VKF_TYPE_F16);
    row.queryRows = 1;
    VkfProblem rows = row;
    rows.queryRows = 3;
    return {named("decode", causal(row), {}, false), keyLengths(named("decode 3 rows", causal(rows), {}, false))};
}

} // namespace vkf::test
