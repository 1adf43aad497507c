// SPDX-License-Identifier: MIT
//
// From a decision to phases and scratch memory. Nothing here chooses.
#pragma once

#include "planning/plan.hpp"

namespace vkf {

// Fills in the phases, tile sequences and scratch memory of a plan that has its decision. Errors name numbers that
// kernels cannot hold, and tiles that the device lacks.
VkfResult build(const Caps& caps, const CheckedProblem& problem, AttentionPlan* plan, VkfMessage* message);

} // namespace vkf
