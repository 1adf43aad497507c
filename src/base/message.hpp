// SPDX-License-Identifier: MIT
//
// Failing: one sentence into the caller's message, and the code to return.
#pragma once

#include <vkflash/types.h>

namespace vkf {

#if defined(__GNUC__)
#define VKF_PRINTF_FORMAT(text, first) __attribute__((format(printf, text, first)))
#else
#define VKF_PRINTF_FORMAT(text, first)
#endif

// Writes the sentence, cut off at the message's capacity, and returns `result`. message may be null.
VkfResult fail(VkfMessage* message, VkfResult result, const char* format, ...) VKF_PRINTF_FORMAT(3, 4);

} // namespace vkf
