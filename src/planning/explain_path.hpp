// SPDX-License-Identifier: MIT
//
// The explanation of a path that a plan has or has not: the decision of the decision, or why the path cannot compute
// the problem at all. AUTO stops at the first path that it takes, so that only the explanation asks about the others.
#pragma once

#include "planning/backward/backward_plan.hpp"
#include "planning/plan.hpp"

namespace vkf {

PathDecision explainPath(const TunedDevice& device, const CheckedProblem& problem, const AttentionPlan& plan,
                         VkfPath path);
PathDecision explainPath(const TunedDevice& device, const CheckedBackward& backward, const BackwardPlan& plan,
                         VkfPath path);

} // namespace vkf
