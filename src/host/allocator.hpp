// SPDX-License-Identifier: MIT
//
// Buffers from the Vulkan Memory Allocator, which no other file of the library sees.
#pragma once

#include <memory>

#include "host/logical_device.hpp"

namespace vkf::host {

struct AllocatedBuffer {
    VkBuffer buffer = VK_NULL_HANDLE;
    void* allocation = nullptr; // VmaAllocation
    void* mapped = nullptr;     // Memory::staging only
    uint64_t capacity = 0;      // bytes, a multiple of 4 and not 0, so that vkCmdFillBuffer can fill it
};

class Allocator {
public:
    Allocator(const Instance& instance, const LogicalDevice& device, std::string deviceName);
    ~Allocator();
    Allocator(const Allocator&) = delete;
    Allocator& operator=(const Allocator&) = delete;

    AllocatedBuffer create(uint64_t bytes, Memory memory);
    void destroy(const AllocatedBuffer& buffer) noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace vkf::host
