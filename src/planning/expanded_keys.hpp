// SPDX-License-Identifier: MIT
//
// Path coopmat with k and v of block types: the phase that converts them to the type of the matrices before attention
// (shaders/coopmat/expand_keys.comp). The attention kernel then reads dense 16-bit tensors in scratch memory.
#pragma once

#include "device/caps.hpp"
#include "planning/builder.hpp"
#include "problem/problem.hpp"

namespace vkf {

// Whether path coopmat converts k and v before attention. Depends on the problem alone.
bool expandsKeys(const CheckedProblem& problem);

// The problem that the attention kernel then computes: k and v are dense, of the type of the matrices, without pages.
CheckedProblem expandedProblem(const CheckedProblem& problem);

// Adds the phase before all others and reserves its memory, if the plan has expanded keys. The first phase must be
// attention or the map of tiles, which the new phase does not wait for.
VkfResult addExpandedKeys(const Caps& caps, const CheckedProblem& problem, PlanBuilder& builder, AttentionPlan* plan,
                          VkfMessage* message);

} // namespace vkf
