// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include <vkflash/problem.hpp>

namespace vkf {

// Indexed by VkfAppendRole.
using AppendLayouts = std::array<VkfTensorLayout, 6>;

// Checks everything that needs no device. Fills *problem with the given problem, defaults filled in, and *layouts with
// the layouts of all tensors. Layouts of q and rotatedQ are zeros without VKF_ARRAY_QUERIES.
VkfResult checkAppend(const VkfAppendProblem* given, VkfAppendProblem* problem, AppendLayouts* layouts,
                      VkfMessage* message);

} // namespace vkf
