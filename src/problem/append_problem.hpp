// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include <vkflash/problem.hpp>

namespace vkf {

// By VkfAppendRole.
using AppendLayouts = std::array<VkfTensorLayout, 6>;

// Checks everything that needs no device. Fills *problem with the given problem and its defaults, and *layouts.
VkfResult checkAppend(const VkfAppendProblem* given, VkfAppendProblem* problem, AppendLayouts* layouts,
                      VkfMessage* message);

} // namespace vkf
