// SPDX-License-Identifier: MIT
//
// The parts that every engine has: an instance, a device, a queue, a command buffer and an allocator. The allocator
// hands out pieces of one large block of memory. Only the list of features to enable comes from vkflash.
#pragma once

#include <volk.h>

#include <cstddef>
#include <functional>

#include <vkflash/vkflash.hpp>

// A piece of the engine's only buffer.
struct Allocation {
    VkDeviceAddress address;
    void* mapped;
};

// The piece as an input or output of a call, from this fp32 element on.
inline VkfBinding at(const Allocation& allocation, size_t floats = 0) {
    VkfBinding binding{};
    binding.address = allocation.address + floats * sizeof(float);
    return binding;
}

class Gpu {
public:
    Gpu();
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    VkInstance instance() const { return instance_; }
    VkPhysicalDevice physicalDevice() const { return physicalDevice_; }
    VkDevice device() const { return device_; }
    VkfFeatures features() const { return features_; }

    Allocation allocate(size_t bytes);
    // Records a frame, submits it and waits for it.
    void frame(const std::function<void(VkCommandBuffer)>& commands);
    // Records commands that can be submitted any number of times while the engine lives. They see what earlier
    // submissions wrote.
    VkCommandBuffer record(const std::function<void(VkCommandBuffer)>& commands);
    // Submits recorded commands and waits for them.
    void submit(VkCommandBuffer commandBuffer);

private:
    void createDevice();
    void createMemory();
    void createCommands();

    VkInstance instance_ = VK_NULL_HANDLE;
    VkPhysicalDevice physicalDevice_ = VK_NULL_HANDLE;
    VkDevice device_ = VK_NULL_HANDLE;
    VkQueue queue_ = VK_NULL_HANDLE;
    uint32_t queueFamily_ = 0;
    VkfFeatures features_ = 0;
    VkBuffer buffer_ = VK_NULL_HANDLE;
    VkDeviceMemory memory_ = VK_NULL_HANDLE;
    VkDeviceAddress address_ = 0;
    std::byte* mapped_ = nullptr;
    size_t used_ = 0;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkFence fence_ = VK_NULL_HANDLE;
};

// A context on the engine's device.
vkf::Context createContext(const Gpu& gpu);
