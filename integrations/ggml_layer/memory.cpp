// SPDX-License-Identifier: MIT
#include "memory.hpp"

#include <array>

namespace vkf::layer {
namespace {

constexpr VkMemoryPropertyFlags hostFlags = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

// Returns the number of the first allowed type with the flags, or of none.
uint32_t findType(const VkPhysicalDeviceMemoryProperties& types, uint32_t allowed, VkMemoryPropertyFlags flags) {
    for (uint32_t i = 0; i < types.memoryTypeCount; i++) {
        if ((allowed >> i & 1) != 0 && (types.memoryTypes[i].propertyFlags & flags) == flags) {
            return i;
        }
    }
    return VK_MAX_MEMORY_TYPES;
}

// Memory on the device before memory that the device reaches over a bus.
uint32_t chooseType(const VkPhysicalDeviceMemoryProperties& types, uint32_t allowed, bool host) {
    const VkMemoryPropertyFlags needed = host ? hostFlags : 0;
    const uint32_t best = findType(types, allowed, needed | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    return best != VK_MAX_MEMORY_TYPES ? best : findType(types, allowed, needed);
}

} // namespace

std::shared_ptr<Memory> Memory::allocate(const DeviceFunctions& next, VkDevice device,
                                         const VkPhysicalDeviceMemoryProperties& types, VkDeviceSize bytes, bool host) {
    std::shared_ptr<Memory> memory(new Memory(next, device, bytes));
    return memory->create(types, host) ? memory : nullptr;
}

bool Memory::create(const VkPhysicalDeviceMemoryProperties& types, bool host) {
    VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.size = size_;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    if (next_.CreateBuffer(device_, &info, nullptr, &buffer_) != VK_SUCCESS) {
        buffer_ = VK_NULL_HANDLE;
        return false;
    }
    VkMemoryRequirements needed{};
    next_.GetBufferMemoryRequirements(device_, buffer_, &needed);
    VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    VkMemoryAllocateInfo allocation{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &flags};
    allocation.allocationSize = needed.size;
    allocation.memoryTypeIndex = chooseType(types, needed.memoryTypeBits, host);
    if (allocation.memoryTypeIndex == VK_MAX_MEMORY_TYPES ||
        next_.AllocateMemory(device_, &allocation, nullptr, &memory_) != VK_SUCCESS) {
        memory_ = VK_NULL_HANDLE;
        return false;
    }
    return next_.BindBufferMemory(device_, buffer_, memory_, 0) == VK_SUCCESS &&
           (!host || next_.MapMemory(device_, memory_, 0, VK_WHOLE_SIZE, 0, &mapped_) == VK_SUCCESS);
}

Memory::~Memory() {
    next_.DestroyBuffer(device_, buffer_, nullptr);
    next_.FreeMemory(device_, memory_, nullptr);
}

VkfBinding Memory::binding() const {
    VkfBinding binding{};
    binding.buffer = buffer_;
    binding.size = size_;
    return binding;
}

} // namespace vkf::layer
