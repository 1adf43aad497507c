// SPDX-License-Identifier: MIT
#include "support/plans.hpp"

#include <catch2/catch_test_macros.hpp>

namespace vkf::test {
namespace {

CheckedProblem checked(const VkfProblem& problem) {
    CheckedProblem c{};
    REQUIRE(checkProblem(&problem, &c, nullptr) == VKF_SUCCESS);
    return c;
}

} // namespace

AttentionPlan planOf(const Caps& caps, const VkfProblem& problem) {
    AttentionPlan made;
    VkfMessage message{};
    const VkfResult result = makePlan({caps}, checked(problem), &made, &message);
    INFO(message.text);
    REQUIRE(result == VKF_SUCCESS);
    return made;
}

VkfResult refusal(const Caps& caps, const VkfProblem& problem, VkfMessage* message) {
    AttentionPlan made;
    return makePlan({caps}, checked(problem), &made, message);
}

} // namespace vkf::test
