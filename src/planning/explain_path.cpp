// SPDX-License-Identifier: MIT
#include "planning/explain_path.hpp"

namespace vkf {
namespace {

VkfResult planOn(const TunedDevice& device, const CheckedProblem& problem, VkfPath path, VkfMessage* message) {
    VkfProblem asked = problem.fields;
    asked.path = path;
    CheckedProblem checked{};
    AttentionPlan plan;
    const VkfResult result = checkProblem(&asked, &checked, message);
    return result == VKF_SUCCESS ? makePlan(device, checked, &plan, message) : result;
}

VkfResult planOn(const TunedDevice& device, const CheckedBackward& backward, VkfPath path, VkfMessage* message) {
    VkfProblem forward = backward.forward.fields;
    forward.path = path;
    VkfBackwardProblem asked = backward.fields;
    asked.forward = &forward;
    CheckedBackward checked{};
    BackwardPlan plan;
    const VkfResult result = checkBackward(&asked, &checked, message);
    return result == VKF_SUCCESS ? makeBackwardPlan(device, checked, &plan, message) : result;
}

template <typename Problem, typename Plan>
PathDecision explain(const TunedDevice& device, const Problem& problem, const Plan& plan, VkfPath path) {
    VkfMessage message{};
    if (path != plan.path && planOn(device, problem, path, &message) != VKF_SUCCESS) {
        return {path, VKF_RULE_UNSUPPORTED, message.text};
    }
    return *decisionOn(plan.pathDecisions, path);
}

} // namespace

PathDecision explainPath(const TunedDevice& device, const CheckedProblem& problem, const AttentionPlan& plan,
                         VkfPath path) {
    return explain(device, problem, plan, path);
}

PathDecision explainPath(const TunedDevice& device, const CheckedBackward& backward, const BackwardPlan& plan,
                         VkfPath path) {
    return explain(device, backward, plan, path);
}

} // namespace vkf
