// SPDX-License-Identifier: MIT
//
// Plans of the paths for study, standard and key_outer: kernels and scratch memory. No device is needed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>

#include "planning/plan.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/plans.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using vkf::test::capsOf;
using vkf::test::matrixCaps;
using vkf::test::planOf;
using vkf::test::problemOf;
using vkf::test::refusal;

} // namespace

TEST_CASE("the unfused baseline asks for the score matrix as scratch, the fused path for nothing", "[planning]") {
    VkfProblem problem = problemOf({2, 3, 1, 100, 201, 64});
    const vkf::Caps caps = capsOf(32, 49152, 1024);
    CHECK(planOf(caps, problem).scratch.bytes() == 0);
    problem.path = VKF_PATH_STANDARD;
    const vkf::AttentionPlan standard = planOf(caps, problem);
    CHECK(standard.scratch.bytes() == uint64_t{2} * 3 * 100 * (204 * 4 + 8)); // and m and l
    CHECK(standard.phases.size() == 3);
}

TEST_CASE("the unfused baseline runs on cooperative matrices where path coopmat does", "[planning]") {
    const vkf::Caps caps = matrixCaps();
    VkfProblem problem = problemOf({1, 16, 16, 8192, 8192, 128, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_STANDARD;
    const vkf::AttentionPlan made = planOf(caps, problem);
    CHECK(made.phases[0].variant.kernel == vkf::Kernel::standardScoresCoopmat);
    CHECK(made.phases[2].variant.kernel == vkf::Kernel::standardOutputCoopmat);
    CHECK(made.productType == VKF_TYPE_F16);
    CHECK(made.inputAlignment == 16);
    CHECK(made.scratch.bytes() == uint64_t{16} * 8192 * (8192 * 4 + 8)); // P uses the memory of S
    CHECK(made.tile.sharedBytes * 2 <= 49152);                           // two workgroups fit a multiprocessor
    CHECK(made.tileText == "subgroups=8 rowTiles=1 keyTiles=8 chunkKeys=32 softmaxKeys=8192");

    const struct {
        const char* name;
        void (*change)(VkfProblem&, vkf::Caps&);
    } portable[] = {
        {"fp32", [](VkfProblem& p, vkf::Caps&) { p.precision = VKF_PRECISION_FP32; }},
        {"types", [](VkfProblem& p, vkf::Caps&) { p.v.type = VKF_TYPE_BF16; }},
        {"no matrices", [](VkfProblem&, vkf::Caps& c) { c.features &= ~VkfFeatures{VKF_FEATURE_COOPERATIVE_MATRIX}; }},
    };
    for (const auto& other : portable) {
        INFO(other.name);
        VkfProblem changed = problem;
        vkf::Caps otherCaps = caps;
        other.change(changed, otherCaps);
        const vkf::AttentionPlan plain = planOf(otherCaps, changed);
        CHECK(plain.phases[0].variant.kernel == vkf::Kernel::standardScores);
        CHECK(plain.productType == VKF_TYPE_F32);
        CHECK(plain.tileText ==
              "groups=8 lanes=16 threadRows=8 threadKeys=4 chunkDim4=8 chunkKeys=16 softmaxKeys=8192");
    }
}

TEST_CASE("few rows and keys on matrices are padded to whole matrices and chunks", "[planning]") {
    VkfProblem problem = problemOf({2, 3, 1, 1, 33, 64, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_STANDARD;
    const vkf::AttentionPlan made = planOf(matrixCaps(), problem);
    CHECK(made.tile.rows == 16);
    CHECK(made.scratch.bytes() == uint64_t{2} * 3 * (16 * 64 * 4 + 1 * 8));
}

TEST_CASE("scores that fit no memory are refused", "[planning]") {
    VkfProblem problem = problemOf({4, 1, 1, VKF_MAX_ROWS, VKF_MAX_ROWS, 8});
    problem.path = VKF_PATH_STANDARD;
    VkfMessage message{};
    CHECK(refusal(capsOf(32, 49152, 1024), problem, &message) == VKF_ERROR_UNSUPPORTED);
    CHECK_THAT(std::string(message.text), ContainsSubstring("the scores of all heads are over 2^62 bytes"));
}

TEST_CASE("path key_outer keeps o, m and l of each row, and has one phase however many keys there are", "[planning]") {
    VkfProblem problem = problemOf({2, 3, 1, 100, 1U << 20, 30, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_KEY_OUTER;
    const vkf::AttentionPlan made = planOf(capsOf(32, 49152, 1024), problem);
    CHECK(made.scratch.bytes() == uint64_t{2} * 3 * 100 * (32 + 2) * 4);
    REQUIRE(made.phases.size() == 2);
    CHECK(made.phases[0].rounds == (1U << 20) / made.tile.keys);
    problem.keys = 0;
    CHECK(planOf(capsOf(32, 49152, 1024), problem).phases.size() == 1);
}
