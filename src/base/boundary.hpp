// SPDX-License-Identifier: MIT
//
// The edge of the C interface: no exception crosses it.
#pragma once

#include <new>

#include "base/message.hpp"

namespace vkf {

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
