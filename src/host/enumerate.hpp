// SPDX-License-Identifier: MIT
//
// Vulkan's lists, which take two calls, as vectors.
#pragma once

#include <cstring>
#include <vector>

#include "host/error.hpp"

namespace vkf::host {

// enumerate<VkPhysicalDevice>("vkEnumeratePhysicalDevices", vk.EnumeratePhysicalDevices, instance)
template <typename Item, typename Function, typename... Arguments>
std::vector<Item> enumerate(const char* call, Function function, Arguments... arguments) {
    std::vector<Item> items;
    // The list can grow between the two calls, hence the loop.
    for (;;) {
        uint32_t count = 0;
        check(function(arguments..., &count, nullptr), call);
        items.resize(count);
        const VkResult result = function(arguments..., &count, items.data());
        if (result != VK_INCOMPLETE) {
            check(result, call); // before the count is used, which is undefined after an error
            items.resize(count);
            return items;
        }
    }
}

inline bool contains(const std::vector<VkExtensionProperties>& extensions, const char* name) {
    for (const VkExtensionProperties& extension : extensions) {
        if (std::strcmp(extension.extensionName, name) == 0) {
            return true;
        }
    }
    return false;
}

} // namespace vkf::host
