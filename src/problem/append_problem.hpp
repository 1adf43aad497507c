// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include <vkflash/problem.hpp>

namespace vkf {

// Indexed by VkfAppendRole.
using AppendLayouts = std::array<VkfTensorLayout, 6>;

// Checks everything that needs no device. Fills *problem with the given problem, defaults filled in, and *layouts with
// the layouts of all tensors. Layouts of q and rotatedQ are zeros without VKF_USE_QUERIES.
VkfResult checkAppend(const VkfAppendProblem* given, VkfAppendProblem* problem, AppendLayouts* layouts,
                      VkfMessage* message);

// Returns the bytes of an array. 0 for arrays of other calls, and without the array. The problem must be checked.
uint64_t arrayBytes(const VkfAppendProblem& p, VkfArray array);

} // namespace vkf
