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

// The same call in other splits.
void addSplits(std::vector<Case>& cases, const Case& one, bool withExchange) {
    Case each = one;
    each.split = {mpi::Distribution::contiguous, mpi::Method::ring};
    each.name = one.name + ", contiguous";
    cases.push_back(each);
    each.split.distribution = mpi::Distribution::zigzag;
    each.name = one.name + ", zigzag";
    cases.push_back(each);
    if (withExchange) {
        each.split.method = mpi::Method::headExchange;
        each.name = one.name + ", head exchange";
        cases.push_back(each);
    }
}

Case named(const std::string& name, const VkfProblem& problem) {
    Case one;
    one.name = name;
    one.problem = problem;
    return one;
}

Case packed(const VkfProblem& problem) {
    Case one = named("packed causal", problem);
    one.cuSeqlensQ = one.cuSeqlensK = {0, 11, 11, 13, 37};
    one.problem.batch = 4;
    enable(one.problem, VKF_USE_CU_SEQLENS | VKF_USE_CAUSAL);
    return one;
}

Case keyLengths(const VkfProblem& problem) {
    Case one = named("key lengths", problem);
    one.keyLengths = {5, 30};
    enable(one.problem, VKF_USE_KEY_LENGTHS);
    return one;
}

} // namespace

std::vector<Case> forwardCases(uint32_t ranks) {
    std::vector<Case> cases;
    for (const VkfType type : {VKF_TYPE_F32, VKF_TYPE_F16}) {
        const std::string name = vkfTypeName(type);
        const VkfProblem full = base(type);
        const bool exchanges = full.kvHeads % ranks == 0;
        addSplits(cases, named(name + " full", full), exchanges);
        VkfProblem causal = full;
        enable(causal, VKF_USE_CAUSAL);
        addSplits(cases, named(name + " causal", causal), exchanges);
        addSplits(cases, packed(full), exchanges);
        addSplits(cases, keyLengths(full), exchanges);
        VkfProblem few = causal;
        few.queryRows = few.keys = 3;
        addSplits(cases, named(name + " 3 rows", few), exchanges);
    }
    return cases;
}

std::vector<Case> decodeCases() {
    VkfProblem row = base(VKF_TYPE_F16);
    row.queryRows = 1;
    enable(row, VKF_USE_CAUSAL);
    return {named("decode", row), keyLengths(row)};
}

} // namespace vkf::test
