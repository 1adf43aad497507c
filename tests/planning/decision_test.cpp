// SPDX-License-Identifier: MIT
//
// Decisions, the ranges of scratch memory, and the rows of the table of chips. No device is needed.
#include <catch2/catch_test_macros.hpp>

#include "device/chips.hpp"
#include "planning/plan.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/plans.hpp"
#include "tiles/amd/registers.hpp"

using vkf::Scratch;
using vkf::ScratchRange;

TEST_CASE("ranges of scratch memory follow each other, aligned, with their margins", "[planning]") {
    Scratch scratch;
    CHECK(scratch.bytes() == 0);
    CHECK(scratch.offset(ScratchRange::table) == 0);
    scratch.reserve(ScratchRange::partialOutputs, 20);
    scratch.reserve(ScratchRange::rowState, 8, 4); // not aligned to 16
    scratch.reserve(ScratchRange::storedDs, 100, 16, 24);
    scratch.reserve(ScratchRange::table, 4);
    CHECK(scratch.offset(ScratchRange::partialOutputs) == 0);
    CHECK(scratch.offset(ScratchRange::rowState) == 20);
    CHECK(scratch.offset(ScratchRange::storedDs) == 32 + 24);
    CHECK(scratch.offset(ScratchRange::table) == 144);
    CHECK(scratch.bytes() == 148);
    CHECK(scratch.offset(ScratchRange::tileMap) == 0);
}

TEST_CASE("a device without a row in the table of chips counts as an H200", "[planning]") {
    const vkf::Caps h200 = vkf::test::matrixCaps();
    vkf::Caps other = h200;
    other.vendorId = 0x8086;
    CHECK(&vkf::chipOf(other) == &vkf::chipOf(h200));
    CHECK_FALSE(vkf::chipOf(h200).path.avoidsMatrices);
    vkf::Caps amd = h200;
    amd.vendorId = 0x1002;
    CHECK(vkf::chipOf(amd).path.avoidsBackwardMatrices);
    CHECK(vkf::chipOf(amd).spills.maxScalar < vkf::chipOf(h200).spills.maxScalar);
    vkf::Caps llvmpipe = h200;
    llvmpipe.driver = VK_DRIVER_ID_MESA_LLVMPIPE;
    CHECK(vkf::chipOf(llvmpipe).path.avoidsMatrices);
    CHECK(vkf::chipOf(llvmpipe).tileMap.operations < vkf::chipOf(h200).tileMap.operations);
}

TEST_CASE("a decision says what a plan has, without a phase", "[planning]") {
    VkfProblem problem = vkf::test::problemOf({1, 8, 2, 512, 4096, 128, 0, VKF_TYPE_F16});
    problem.use |= VKF_USE_CAUSAL;
    vkf::enable(problem, VKF_USE_PROBABILITIES);
    vkf::enable(problem, VKF_USE_LSE, false);
    const vkf::Caps caps = vkf::test::matrixCaps();
    vkf::CheckedProblem checked{};
    REQUIRE(vkf::checkProblem(&problem, &checked, nullptr) == VKF_SUCCESS);
    vkf::Decision decision;
    REQUIRE(vkf::decide({caps}, checked, &decision, nullptr) == VKF_SUCCESS);
    CHECK(decision.path == VKF_PATH_COOPMAT);
    CHECK(decision.packedHeads == 4);
    CHECK(decision.interleavedHeads > 1); // causal tiles differ in their keys
    CHECK(decision.probabilities);
    CHECK(decision.lse == vkf::Operand::scratchLse);
    const vkf::AttentionPlan plan = vkf::test::planOf(caps, problem);
    CHECK(plan.phases.back().variant.kernel == vkf::Kernel::attentionProbabilities);
    CHECK(plan.tileText == decision.tileText);
    CHECK(plan.scratch.offset(ScratchRange::lse) + uint64_t{8} * 512 * sizeof(float) == plan.scratch.bytes());
}
