// SPDX-License-Identifier: MIT
#pragma once

#include <vulkan/vulkan_core.h>

#include "base/message.hpp"

namespace vkf {

// Returns the library's code for a failed Vulkan call. The message names the call.
inline VkfResult failVulkan(VkfMessage* message, VkResult result, const char* call) {
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return fail(message, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: out of host memory", call);
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        return fail(message, VKF_ERROR_OUT_OF_DEVICE_MEMORY, "%s: out of device memory", call);
    case VK_ERROR_DEVICE_LOST:
        return fail(message, VKF_ERROR_DEVICE_LOST, "%s: device lost", call);
    default:
        return fail(message, VKF_ERROR_VULKAN, "%s returned VkResult %d", call, static_cast<int>(result));
    }
}

} // namespace vkf
