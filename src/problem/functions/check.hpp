// SPDX-License-Identifier: MIT
//
// Checks of functions of the caller's own, which need no GLSL.
#pragma once

#include <span>

#include <vkflash/functions.h>

namespace vkf {

// Refuses unknown bits and elements, and names that are no identifiers or stand twice.
VkfResult checkFunctions(VkfFunctionSet functions, std::span<const VkfFunctionArray> arrays, VkfMessage* message);

// The text of an element: "f16". Null for other values.
const char* elementName(VkfElement element);

} // namespace vkf
