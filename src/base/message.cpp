// SPDX-License-Identifier: MIT
#include "base/message.hpp"

#include <cstdarg>
#include <cstdio>

namespace vkf {

VkfResult fail(VkfMessage* message, VkfResult result, const char* format, ...) {
    if (message != nullptr) {
        std::va_list arguments;
        va_start(arguments, format);
        std::vsnprintf(message->text, sizeof message->text, format, arguments);
        va_end(arguments);
    }
    return result;
}

} // namespace vkf
