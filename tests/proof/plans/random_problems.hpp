// SPDX-License-Identifier: MIT
//
// Random problems for plans alone: no call is made, so sizes may be as large as the library takes, and larger.
#pragma once

#include <vkflash/problem.hpp>

#include "support/dice.hpp"

namespace vkf::test {

VkfProblem randomPlanProblem(Dice& dice);

// A problem that has a backward pass more often than randomPlanProblem.
VkfProblem randomForwardProblem(Dice& dice);
// The result points to `forward`.
VkfBackwardProblem randomBackwardProblem(Dice& dice, const VkfProblem& forward);

} // namespace vkf::test
