// SPDX-License-Identifier: MIT
//
// The order in which workgroups take the tiles of a fused path.
#pragma once

#include "device/caps.hpp"
#include "planning/plan.hpp"
#include "problem/problem.hpp"

namespace vkf {

// Lets groups of heads take turns with their tiles, if tiles differ in the number of keys that they see. The kernels
// take the longest tiles of each head first. The plan must begin with its attention phase.
void orderItems(const Caps& caps, const CheckedProblem& problem, AttentionPlan* plan);

} // namespace vkf
