// SPDX-License-Identifier: MIT
//
// The order in which workgroups take the tiles of a fused path.
#pragma once

#include "device/caps.hpp"
#include "problem/problem.hpp"
#include "schedule/schedule.hpp"

namespace vkf {

// Lets groups of heads take turns with their tiles, if tiles differ in the number of keys that they see. The kernels
// take the longest tiles of each head first. The schedule must begin with its attention phase.
void orderItems(const Caps& caps, const CheckedProblem& problem, Schedule* schedule);

} // namespace vkf
