// SPDX-License-Identifier: MIT
#pragma once

#include <vkflash/append.h>

namespace vkf {

// Everything that can be said without a device. Fills *problem with what was given and its defaults, and *layout.
VkfResult checkAppend(const VkfAppendProblem* given, VkfAppendProblem* problem, VkfAppendLayout* layout,
                      VkfMessage* message);

} // namespace vkf
