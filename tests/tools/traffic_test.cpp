// SPDX-License-Identifier: MIT
//
// The traffic model against sums written out by hand.
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

TEST_CASE("a backward pass with stored P moves seven matrices of scores", "[traffic]") {
    // q, k, v and dO twice in, dq, dk and dv out. P in fp16 twice in; dP in and out, dS twice in and once out.
    CHECK(storedBackwardTraffic(trafficShape(problem())).total() ==
          heads * (2 * 100 * 8 * 2 + 2 * 70 * (8 + 16) * 2 + 2 * 100 * 16 * 2 + 7 * 100 * 70 * 2));
}

TEST_CASE("a backward pass with keys outside moves rows once for each tile of keys", "[traffic]") {
    const Traffic traffic = keyOuterBackwardTraffic(trafficShape(problem()), {32, 16});
    const double rows = 3 * 100 * 8 * 2 + 2 * 100 * 16 * 2 + 100 * 4; // q, dq in and out, o, dO, lse
    CHECK(traffic.total() == heads * (5 * rows + 2 * 70 * (8 + 16) * 2));
    CHECK(traffic.written() == heads * (5 * 100 * 8 * 2 + 70 * (8 + 16) * 2));
}

TEST_CASE("a backward pass with owned tiles writes each gradient once", "[traffic]") {
    const Traffic traffic = ownedBackwardTraffic(trafficShape(problem()), {32, 16});
    const double states = 100 * 2 * 4; // lse and delta
    CHECK(traffic.written() == heads * (100 * 8 * 2 + 70 * (8 + 16) * 2 + states));
    const double ofKeys = 5 * (100 * (8 + 16) * 2 + states) + 70 * (8 + 16) * 2; // q and dO for each of 5 tiles
    const double ofRows = 4 * 70 * (8 + 16) * 2 + 100 * (8 + 16) * 2 + states;   // k and v for each of 4 tiles
    const double before = 2 * 100 * 16 * 2 + 100 * 4;                            // o, dO, lse
    CHECK(traffic.read() == heads * (ofKeys + ofRows + before));
    CHECK(minBackwardBytes(trafficShape(problem())) == heads * (2 * 170 * (8 + 16) * 2 + 100 * 4));
}
