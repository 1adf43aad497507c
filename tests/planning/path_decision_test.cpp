// SPDX-License-Identifier: MIT
//
// Why a plan has its path: each rule of AUTO with its numbers, and the explanation of every path. No device is needed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <array>
#include <string>

#include "planning/explain_path.hpp"
#include "reference/backward_cases.hpp"
#include "support/call.hpp"
#include "support/described_device.hpp"
#include "support/plans.hpp"

namespace {

using Catch::Matchers::ContainsSubstring;
using vkf::test::capsOf;
using vkf::test::matrixCaps;
using vkf::test::planOf;
using vkf::test::problemOf;

constexpr std::array allPaths = {VKF_PATH_SCALAR, VKF_PATH_STANDARD,  VKF_PATH_COOPMAT,
                                 VKF_PATH_DECODE, VKF_PATH_KEY_OUTER, VKF_PATH_WGMMA};

vkf::Caps amdCaps() {
    vkf::Caps caps = matrixCaps();
    caps.vendorId = 0x1002;
    return caps;
}

vkf::Caps llvmpipeCaps() {
    vkf::Caps caps = matrixCaps();
    caps.driver = VK_DRIVER_ID_MESA_LLVMPIPE;
    return caps;
}

// The decision took `taken`, and says `rule` and `reason` about `path`.
void checkDecision(const vkf::PathDecisions& decisions, VkfPath path, VkfPathRule rule, const std::string& reason) {
    const vkf::PathDecision* decision = vkf::decisionOn(decisions, path);
    REQUIRE(decision != nullptr);
    INFO(vkfPathName(path) << ": " << decision->reason);
    CHECK(decision->rule == rule);
    CHECK_THAT(decision->reason, ContainsSubstring(reason));
}

struct Expected {
    VkfPath path;
    VkfPathRule rule;
    const char* reason;
};

void checkDecisions(const vkf::Caps& caps, const VkfProblem& problem, VkfPath taken,
                    std::initializer_list<Expected> expected) {
    const vkf::AttentionPlan plan = planOf(caps, problem);
    CHECK(plan.path == taken);
    CHECK(plan.pathDecisions.size() == allPaths.size());
    for (const Expected& one : expected) {
        checkDecision(plan.pathDecisions, one.path, one.rule, one.reason);
    }
}

VkfResult tryToPlan(const vkf::Caps& caps, const VkfProblem& problem, VkfMessage* message) {
    vkf::CheckedProblem checked{};
    vkf::AttentionPlan plan;
    const VkfResult result = vkf::checkProblem(&problem, &checked, message);
    return result == VKF_SUCCESS ? vkf::makePlan({caps}, checked, &plan, message) : result;
}

vkf::BackwardPlan backwardOf(const vkf::Caps& caps, const VkfProblem& forward, vkf::CheckedBackward* checked) {
    const VkfBackwardProblem problem = vkf::test::backwardOf(forward, vkf::test::allGradients(forward));
    vkf::BackwardPlan plan;
    VkfMessage message{};
    REQUIRE(vkf::checkBackward(&problem, checked, &message) == VKF_SUCCESS);
    REQUIRE(vkf::makeBackwardPlan({caps}, *checked, &plan, &message) == VKF_SUCCESS);
    return plan;
}

void checkBackward(const vkf::Caps& caps, const VkfProblem& forward, VkfPath taken,
                   std::initializer_list<Expected> expected) {
    vkf::CheckedBackward checked{};
    const vkf::BackwardPlan plan = backwardOf(caps, forward, &checked);
    CHECK(plan.path == taken);
    for (const Expected& one : expected) {
        checkDecision(plan.pathDecisions, one.path, one.rule, one.reason);
    }
}

} // namespace

TEST_CASE("AUTO says which rule took path decode, with its thresholds", "[planning]") {
    const VkfProblem one = problemOf({1, 32, 8, 1, 4096, 128, 0, VKF_TYPE_F16});
    const char* few =
        "up to 16 query rows (here 1), and either up to 32 packed rows (here 4) or under 16384 keys in all "
        "KV heads (here 32768)";
    checkDecisions(matrixCaps(), one, VKF_PATH_DECODE,
                   {{VKF_PATH_DECODE, VKF_RULE_FEW_ROWS, few},
                    {VKF_PATH_COOPMAT, VKF_RULE_FEW_ROWS, few},
                    {VKF_PATH_SCALAR, VKF_RULE_FEW_ROWS, few},
                    {VKF_PATH_STANDARD, VKF_RULE_COMPARISON, "AUTO never takes it"},
                    {VKF_PATH_KEY_OUTER, VKF_RULE_COMPARISON, "AUTO never takes it"}});
    checkDecisions(matrixCaps(), problemOf({1, 32, 8, 1, 4096, 512, 0, VKF_TYPE_F16}), VKF_PATH_DECODE,
                   {{VKF_PATH_DECODE, VKF_RULE_LATENT_HEADS, "512 columns; other paths than decode take at most 256"}});
    // Without matrices decode takes many packed rows too.
    checkDecisions(capsOf(32, 49152, 1024), problemOf({1, 32, 8, 16, 4096, 128, 0, VKF_TYPE_F16}), VKF_PATH_DECODE,
                   {{VKF_PATH_DECODE, VKF_RULE_FEW_ROWS,
                     "up to 16 query rows (here 16) where neither wgmma nor coopmat can be taken"},
                    {VKF_PATH_COOPMAT, VKF_RULE_UNSUPPORTED, "the device or the context lacks cooperative matrices"}});
}

TEST_CASE("AUTO takes path decode for lists of chosen keys of each row", "[planning]") {
    VkfProblem problem = problemOf({1, 32, 8, 512, 65536, 128, 0, VKF_TYPE_F16});
    problem.use |= VKF_USE_CHOSEN_KEYS;
    problem.chosenKeys = {2048, 0, 0, 0, 2048, {}};
    const char* lists = "a tile has the rows of one list of chosen keys, here 4";
    checkDecisions(matrixCaps(), problem, VKF_PATH_DECODE,
                   {{VKF_PATH_DECODE, VKF_RULE_CHOSEN_KEYS, lists}, {VKF_PATH_SCALAR, VKF_RULE_CHOSEN_KEYS, lists}});
    problem.chosenKeys.rowStride = 0; // all rows share a list
    checkDecisions(matrixCaps(), problem, VKF_PATH_COOPMAT,
                   {{VKF_PATH_COOPMAT, VKF_RULE_MATRIX_UNITS, "faster than plain arithmetic"}});
    problem.use |= VKF_USE_ALIBI;
    checkDecisions(matrixCaps(), problem, VKF_PATH_SCALAR,
                   {{VKF_PATH_COOPMAT, VKF_RULE_UNSUPPORTED, "chosen keys are not supported with ALiBi"}});
}

TEST_CASE("AUTO says which rule took path coopmat, with its thresholds", "[planning]") {
    checkDecisions(matrixCaps(), problemOf({1, 32, 8, 17, 4096, 128, 0, VKF_TYPE_F16}), VKF_PATH_COOPMAT,
                   {{VKF_PATH_COOPMAT, VKF_RULE_MATRIX_UNITS, "faster than plain arithmetic"},
                    {VKF_PATH_DECODE, VKF_RULE_MANY_ROWS, "up to 16 query rows only (here 17)"},
                    {VKF_PATH_SCALAR, VKF_RULE_MATRIX_UNITS, "faster than plain arithmetic"}});
    const char* manyRowsAndKeys = "over 32 packed rows (here 64) and at least 16384 keys in all KV heads (here 32768)";
    checkDecisions(matrixCaps(), problemOf({1, 32, 8, 16, 4096, 128, 0, VKF_TYPE_F16}), VKF_PATH_COOPMAT,
                   {{VKF_PATH_COOPMAT, VKF_RULE_MANY_ROWS_AND_KEYS, manyRowsAndKeys},
                    {VKF_PATH_DECODE, VKF_RULE_MANY_ROWS_AND_KEYS, manyRowsAndKeys},
                    {VKF_PATH_SCALAR, VKF_RULE_MATRIX_UNITS, "faster than plain arithmetic"}});
}

TEST_CASE("AUTO says why it took no path but scalar", "[planning]") {
    const VkfProblem halves = problemOf({1, 8, 8, 512, 512, 128, 0, VKF_TYPE_F16});
    const VkfProblem fp32 = problemOf({1, 8, 8, 512, 512, 128, 0, VKF_TYPE_F32});
    checkDecisions(capsOf(32, 49152, 1024), halves, VKF_PATH_SCALAR,
                   {{VKF_PATH_SCALAR, VKF_RULE_OTHERWISE, "neither decode nor coopmat"},
                    {VKF_PATH_DECODE, VKF_RULE_MANY_ROWS, "(here 512)"},
                    {VKF_PATH_COOPMAT, VKF_RULE_UNSUPPORTED, "the device or the context lacks cooperative matrices"}});
    checkDecisions(llvmpipeCaps(), halves, VKF_PATH_SCALAR,
                   {{VKF_PATH_COOPMAT, VKF_RULE_CHIP, "plain arithmetic is faster than the matrices of this chip"}});
    checkDecisions(amdCaps(), fp32, VKF_PATH_SCALAR, {{VKF_PATH_COOPMAT, VKF_RULE_CHIP, "fp32 on matrix units"}});
    checkDecisions(amdCaps(), problemOf({1, 8, 8, 512, 512, 256, 0, VKF_TYPE_F16}), VKF_PATH_SCALAR,
                   {{VKF_PATH_COOPMAT, VKF_RULE_SPILLS,
                     "about 272 registers an invocation; the compiler of this device spills above 152"}});
    vkf::Caps without = matrixCaps();
    without.features &= ~static_cast<VkfFeatures>(VKF_FEATURE_STORAGE_16BIT);
    VkfProblem few = problemOf({1, 8, 8, 4, 512, 128, 0, VKF_TYPE_F16});
    checkDecisions(without, few, VKF_PATH_SCALAR,
                   {{VKF_PATH_COOPMAT, VKF_RULE_UNSUPPORTED, "16-bit storage"},
                    {VKF_PATH_DECODE, VKF_RULE_UNSUPPORTED, "16-bit storage"}});
}

TEST_CASE("a path that the problem asks for needs no rule", "[planning]") {
    VkfProblem problem = problemOf({1, 8, 8, 512, 512, 128, 0, VKF_TYPE_F16});
    problem.path = VKF_PATH_SCALAR;
    checkDecisions(matrixCaps(), problem, VKF_PATH_SCALAR,
                   {{VKF_PATH_SCALAR, VKF_RULE_ASKED_FOR, "asks for path scalar"},
                    {VKF_PATH_COOPMAT, VKF_RULE_ASKED_FOR, "asks for path scalar"}});
    vkf::enable(problem, VKF_USE_LSE);
    checkBackward(matrixCaps(), problem, VKF_PATH_SCALAR,
                  {{VKF_PATH_SCALAR, VKF_RULE_ASKED_FOR, "asks for path scalar"},
                   {VKF_PATH_COOPMAT, VKF_RULE_ASKED_FOR, "asks for path scalar"}});
}

TEST_CASE("AUTO says which rule took the path of a backward pass", "[planning]") {
    VkfProblem problem = problemOf({1, 8, 8, 512, 512, 128, 0, VKF_TYPE_F16});
    vkf::enable(problem, VKF_USE_LSE);
    checkBackward(matrixCaps(), problem, VKF_PATH_COOPMAT,
                  {{VKF_PATH_COOPMAT, VKF_RULE_MATRIX_UNITS, "faster than plain arithmetic"},
                   {VKF_PATH_SCALAR, VKF_RULE_MATRIX_UNITS, "faster than plain arithmetic"}});
    checkBackward(amdCaps(), problem, VKF_PATH_SCALAR,
                  {{VKF_PATH_COOPMAT, VKF_RULE_CHIP, "this chip"},
                   {VKF_PATH_SCALAR, VKF_RULE_OTHERWISE, "what coopmat does not take"}});
    checkBackward(capsOf(32, 49152, 1024), problem, VKF_PATH_SCALAR,
                  {{VKF_PATH_COOPMAT, VKF_RULE_UNSUPPORTED, "the device or the context lacks cooperative matrices"}});
    VkfProblem odd = problemOf({1, 8, 8, 512, 512, 100, 0, VKF_TYPE_F16}); // rows of 200 bytes
    vkf::enable(odd, VKF_USE_LSE);
    checkBackward(matrixCaps(), odd, VKF_PATH_SCALAR,
                  {{VKF_PATH_COOPMAT, VKF_RULE_WHOLE_WORDS, "multiples of 16 bytes"}});
    vkf::Caps small = matrixCaps();
    small.maxSharedMemoryBytes = 16384;
    VkfProblem wide = problemOf({1, 8, 8, 512, 512, 256, 0, VKF_TYPE_F16});
    vkf::enable(wide, VKF_USE_LSE);
    checkBackward(small, wide, VKF_PATH_SCALAR,
                  {{VKF_PATH_COOPMAT, VKF_RULE_UNSUPPORTED, "no tile of the backward pass on path coopmat"}});
}

TEST_CASE("an explanation names the error of each path that cannot compute the problem", "[planning]") {
    VkfProblem problem = problemOf({1, 8, 8, 4, 512, 128, 0, VKF_TYPE_F16});
    vkf::enable(problem, VKF_USE_CU_SEQLENS); // not on path standard
    problem.precision = VKF_PRECISION_FP32;   // not on coopmat
    vkf::CheckedProblem checked{};
    REQUIRE(vkf::checkProblem(&problem, &checked, nullptr) == VKF_SUCCESS);
    const vkf::Caps caps = matrixCaps();
    const vkf::AttentionPlan plan = planOf(caps, problem);
    REQUIRE(plan.path == VKF_PATH_DECODE);
    for (const VkfPath path : allPaths) {
        problem.path = path;
        VkfMessage message{};
        const vkf::PathDecision decision = vkf::explainPath({caps}, checked, plan, path);
        INFO(vkfPathName(path) << ": " << decision.reason);
        CHECK(decision.path == path);
        if (tryToPlan(caps, problem, &message) == VKF_SUCCESS) {
            CHECK(decision.rule == vkf::decisionOn(plan.pathDecisions, path)->rule);
        } else {
            CHECK(decision.rule == VKF_RULE_UNSUPPORTED);
            CHECK(decision.reason == message.text);
        }
    }
    CHECK(vkf::explainPath({caps}, checked, plan, VKF_PATH_COOPMAT).reason ==
          "path coopmat: precision fp32 excludes products of 16-bit types");
    CHECK(vkf::explainPath({caps}, checked, plan, VKF_PATH_SCALAR).rule == VKF_RULE_FEW_ROWS);
}

TEST_CASE("an explanation of a backward pass refuses the paths that it does not have", "[planning]") {
    VkfProblem forward = problemOf({1, 8, 8, 512, 512, 128, 0, VKF_TYPE_F32});
    vkf::enable(forward, VKF_USE_LSE);
    vkf::CheckedBackward checked{};
    const vkf::Caps caps = matrixCaps();
    const vkf::BackwardPlan plan = backwardOf(caps, forward, &checked);
    for (const VkfPath path : {VKF_PATH_DECODE, VKF_PATH_STANDARD, VKF_PATH_KEY_OUTER}) {
        const vkf::PathDecision decision = vkf::explainPath({caps}, checked, plan, path);
        CHECK(decision.rule == VKF_RULE_UNSUPPORTED);
        CHECK_THAT(decision.reason, ContainsSubstring("the backward pass is not on path"));
    }
    const vkf::PathDecision coopmat = vkf::explainPath({caps}, checked, plan, VKF_PATH_COOPMAT);
    CHECK(coopmat.rule == VKF_RULE_UNSUPPORTED);
    CHECK_THAT(coopmat.reason, ContainsSubstring("the backward pass on path coopmat: k and v must both be f16"));
    CHECK(vkf::explainPath({caps}, checked, plan, VKF_PATH_SCALAR).rule == VKF_RULE_OTHERWISE);
}
