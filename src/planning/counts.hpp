// SPDX-License-Identifier: MIT
//
// Refuses numbers that the 32-bit arithmetic of shaders does not hold (shaders/shared/work_items.h).
#pragma once

#include <cstdint>
#include <vector>

#include "planning/phase.hpp"
#include "problem/problem.hpp"

namespace vkf {

// Refuses more than maxCount rows, over all heads, sequences and key splits.
VkfResult checkRowCount(const CheckedProblem& problem, uint32_t splits, VkfMessage* message);

// Work items of one phase.
VkfResult checkItemCount(uint64_t items, VkfMessage* message);

// Steps of all phases: VkfPlanInfo::stepCount has 32 bits.
VkfResult checkStepCount(const std::vector<Phase>& phases, VkfMessage* message);

} // namespace vkf
