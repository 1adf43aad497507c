// SPDX-License-Identifier: MIT
//
// The traffic ledger against sums written out by hand.
#include <catch2/catch_test_macros.hpp>

#include "model/traffic.hpp"
#include "vkflash/vkflash.hpp"

using namespace vkf::tools;

namespace {

// 3 sequences, 4 heads over 2 KV heads, 100 rows, 70 keys, D = 8, Dv = 16, fp16.
VkfProblem problem() {
    auto problem = vkf::make<VkfProblem>();
    problem.batch = 3;
    problem.queryHeads = 4;
    problem.kvHeads = 2;
    problem.queryRows = 100;
    problem.keys = 70;
    problem.headDim = 8;
    problem.valueDim = 16;
    problem.q = problem.k = problem.v = problem.o = vkf::dense(VKF_TYPE_F16);
    return problem;
}

VkfPlanInfo plan() {
    auto plan = vkf::make<VkfPlanInfo>();
    plan.tileRows = 32; // 4 tiles of rows
    plan.tileKeys = 16; // 5 tiles of keys
    plan.kvSplits = 1;
    return plan;
}

constexpr double heads = 3 * 4; // each head reads its own copy of k and v

} // namespace

TEST_CASE("standard attention moves the matrix of scores four times", "[traffic]") {
    CHECK(standardTraffic(problem(), plan()).total() ==
          heads * (100 * 8 * 2 + 70 * (8 + 16) * 2 + 100 * 16 * 2 + 4 * 100 * 70 * 4));
    // P is stored in the type of its product.
    VkfPlanInfo matrices = plan();
    matrices.productType = VKF_TYPE_F16;
    CHECK(standardTraffic(problem(), plan()).total() - standardTraffic(problem(), matrices).total() ==
          heads * 2 * 100 * 70 * 2);
}

TEST_CASE("with the outer loop over query tiles, k and v are read once for each tile", "[traffic]") {
    CHECK(queryOuterTraffic(problem(), plan()).total() == heads * (100 * 8 * 2 + 100 * 16 * 2 + 4 * 70 * (8 + 16) * 2));
    VkfPlanInfo split = plan();
    split.kvSplits = 3;
    split.scratchBytes = 1000;
    CHECK(queryOuterTraffic(problem(), split).total() ==
          queryOuterTraffic(problem(), plan()).total() + 2 * heads * 100 * 8 * 2 + 2000);
}

TEST_CASE("with the outer loop over key tiles, q and the state move once for each tile", "[traffic]") {
    const double state = 100 * (16 + 2) * 4; // the empty first state is written once more
    CHECK(keyOuterTraffic(problem(), plan()).total() ==
          heads * (70 * (8 + 16) * 2 + 5 * (100 * 8 * 2 + 2 * state) + state));
}
