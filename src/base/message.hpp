// SPDX-License-Identifier: MIT
//
// How functions of the library fail: they write one sentence to the caller's message, and return a code.
#pragma once

#include <vkflash/types.h>

namespace vkf {

#if defined(__MINGW32__)
// mingw-w64 has printf of the C standard for C++. Without this name, g++ would check for the one of Microsoft's
// library.
#define VKF_PRINTF_FORMAT(text, first) __attribute__((format(gnu_printf, text, first)))
#elif defined(__GNUC__)
#define VKF_PRINTF_FORMAT(text, first) __attribute__((format(printf, text, first)))
#else
#define VKF_PRINTF_FORMAT(text, first)
#endif

// Formats the sentence like printf, cuts it off at the message's capacity, and returns `result`. `message` may be null.
VkfResult fail(VkfMessage* message, VkfResult result, const char* format, ...) VKF_PRINTF_FORMAT(3, 4);

} // namespace vkf
