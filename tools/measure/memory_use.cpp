// SPDX-License-Identifier: MIT
#include "measure/memory_use.hpp"

#include <algorithm>
#include <fstream>

#if defined(__linux__)
#include <unistd.h>
#endif

namespace vkf::tools {

std::optional<uint64_t> deviceMemoryInUse(const host::Device& device) {
    const std::vector<std::string>& extensions = device.summary().extensions;
    if (std::find(extensions.begin(), extensions.end(), VK_EXT_MEMORY_BUDGET_EXTENSION_NAME) == extensions.end())
        return std::nullopt;
    const auto getProperties = reinterpret_cast<PFN_vkGetPhysicalDeviceMemoryProperties2>(
        device.getInstanceProcAddr()(device.instance(), "vkGetPhysicalDeviceMemoryProperties2"));
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
    budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
    VkPhysicalDeviceMemoryProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
    properties.pNext = &budget;
    getProperties(device.physicalDevice(), &properties);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < properties.memoryProperties.memoryHeapCount; ++i)
        if ((properties.memoryProperties.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
            bytes += budget.heapUsage[i];
    return bytes;
}

std::optional<uint64_t> hostMemoryInUse() {
#if defined(__linux__)
    std::ifstream pages("/proc/self/statm"); // in pages: all, then those in physical memory
    uint64_t all = 0;
    uint64_t resident = 0;
    if (pages >> all >> resident)
        return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
#endif
    return std::nullopt;
}

} // namespace vkf::tools
