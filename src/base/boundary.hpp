// SPDX-License-Identifier: MIT
//
// The boundary of the C interface. No exception may cross it.
#pragma once

#include <new>

#include "base/message.hpp"

namespace vkf {

// Calls `function` and turns an exception into a result code and a message.
template <typename Function> VkfResult guarded(VkfMessage* message, Function&& function) noexcept {
    try {
        return function();
    } catch (const std::bad_alloc&) {
        return fail(message, VKF_ERROR_OUT_OF_HOST_MEMORY, "out of host memory");
    } catch (...) {
        return fail(message, VKF_ERROR_VULKAN, "unexpected failure in the C++ runtime");
    }
}

} // namespace vkf
