// SPDX-License-Identifier: MIT
//
// Which use a problem makes of the window's slot in the push constants.
#pragma once

#include <cstdint>

#include <vkflash/problem.h>

namespace vkf {

// Returns VKF_PLACE_*: the window, the address of the only optional input, or the address of the call's table.
uint32_t windowPlace(const VkfProblem& problem);

} // namespace vkf
