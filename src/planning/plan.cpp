// SPDX-License-Identifier: MIT
#include "planning/plan.hpp"

#include <utility>

#include "planning/build/build.hpp"

namespace vkf {

VkfResult makePlan(const TunedDevice& device, const CheckedProblem& problem, AttentionPlan* plan, VkfMessage* message) {
    AttentionPlan made;
    VkfResult result = decide(device, problem, &made, message);
    if (result == VKF_SUCCESS) {
        result = build(device.caps, problem, &made, message);
    }
    if (result == VKF_SUCCESS) {
        *plan = std::move(made);
    }
    return result;
}

} // namespace vkf
