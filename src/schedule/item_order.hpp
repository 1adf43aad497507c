// SPDX-License-Identifier: MIT
//
// In which order workgroups take the tiles of a fused path.
#pragma once

#include "problem/problem.hpp"
#include "schedule/schedule.hpp"

namespace vkf {

// Lets heads take turns with their tiles, the longest of each first, where tiles differ in how many keys they see. For
// a schedule that begins with its attention phase.
void orderItems(const CheckedProblem& problem, Schedule* schedule);

} // namespace vkf
