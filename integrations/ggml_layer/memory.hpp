// SPDX-License-Identifier: MIT
//
// Device memory of the layer: scratch memory of calls, and small arrays that the kernels read.
#pragma once

#include <vulkan/vulkan_core.h>

#include <memory>

#include <vkflash/vkflash.hpp>

#include "vulkan_functions.hpp"

namespace vkf::layer {

// A buffer with a device address, and the memory behind it.
class Memory {
public:
    // Returns null if the device has no such memory left. `host`: memory that the host writes, mapped.
    static std::shared_ptr<Memory> allocate(const DeviceFunctions& next, VkDevice device,
                                            const VkPhysicalDeviceMemoryProperties& types, VkDeviceSize bytes,
                                            bool host);
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    VkDeviceSize size() const { return size_; }
    void* mapped() const { return mapped_; }
    VkfBinding binding() const;

private:
    Memory(const DeviceFunctions& next, VkDevice device, VkDeviceSize size)
        : next_(next), device_(device), size_(size) {}
    bool create(const VkPhysicalDeviceMemoryProperties& types, bool host);

    const DeviceFunctions& next_;
    VkDevice device_;
    VkDeviceSize size_;
    VkBuffer buffer_ = VK_NULL_HANDLE;
    VkDeviceMemory memory_ = VK_NULL_HANDLE;
    void* mapped_ = nullptr;
};

} // namespace vkf::layer
