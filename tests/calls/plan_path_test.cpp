// SPDX-License-Identifier: MIT
//
// vkfGetPlanPath and vkfGetBackwardPath on a real device. tests/planning/path_decision_test.cpp has the rules of AUTO.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>

#include <vkflash/inspect.h>
#include <vkflash/vkflash.hpp>

#include "support/call.hpp"
#include "support/device.hpp"

using Catch::Matchers::ContainsSubstring;
using vkf::test::problemOf;
using vkf::test::testDevice;

TEST_CASE("a plan says why it has its path, and refuses values that are not paths", "[library]") {
    vkf::host::Device& device = testDevice();
    VkfProblem problem = problemOf({1, 2, 1, 100, 200, 64});
    problem.path = VKF_PATH_SCALAR;
    const vkf::host::Plan plan(device, problem);
    for (const VkfPath path :
         {VKF_PATH_SCALAR, VKF_PATH_COOPMAT, VKF_PATH_DECODE, VKF_PATH_STANDARD, VKF_PATH_KEY_OUTER, VKF_PATH_WGMMA}) {
        auto decision = vkf::make<VkfPathDecision>();
        REQUIRE(vkfGetPlanPath(plan.handle(), path, &decision, nullptr) == VKF_SUCCESS);
        CHECK(decision.structSize == sizeof decision);
        CHECK((decision.taken != 0) == (path == VKF_PATH_SCALAR));
        problem.path = path;
        VkfMessage message{};
        const bool supported = vkfCheckSupport(device.context(), &problem, &message) == VKF_SUCCESS;
        CHECK(decision.rule == (supported ? VKF_RULE_ASKED_FOR : VKF_RULE_UNSUPPORTED));
        CHECK(std::string(decision.reason) == (supported ? "the problem asks for path scalar" : message.text));
    }
    auto decision = vkf::make<VkfPathDecision>();
    VkfMessage message{};
    CHECK(vkfGetPlanPath(nullptr, VKF_PATH_SCALAR, &decision, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(std::string(message.text) == "plan is null");
    CHECK(vkfGetBackwardPath(nullptr, VKF_PATH_SCALAR, &decision, &message) == VKF_ERROR_INVALID_ARGUMENT);
    CHECK(std::string(message.text) == "backward is null");
    for (const int path : {-1, 0, 7}) {
        CHECK(vkfGetPlanPath(plan.handle(), static_cast<VkfPath>(path), &decision, &message) ==
              VKF_ERROR_INVALID_ARGUMENT);
        CHECK_THAT(std::string(message.text), ContainsSubstring("it must be 1 to 6"));
    }
    CHECK(vkfGetPlanPath(plan.handle(), VKF_PATH_SCALAR, nullptr, &message) == VKF_ERROR_INVALID_ARGUMENT);
    decision.structSize = 1;
    CHECK(vkfGetPlanPath(plan.handle(), VKF_PATH_SCALAR, &decision, &message) == VKF_ERROR_STRUCT_SIZE);
}
