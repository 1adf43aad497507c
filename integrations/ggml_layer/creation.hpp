// SPDX-License-Identifier: MIT
//
// What the layer adds while the application creates a device, buffers and memory: features and extensions of vkflash,
// and device addresses.
//
// Vulkan's structs are chained by pointers, so that one in the middle of a chain cannot be exchanged for a copy. The
// classes set bits in the application's own structs, and put the old contents back when they are destroyed. One thread
// at a time does so, because threads may share such a struct.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <mutex>
#include <vector>

#include <vkflash/vkflash.h>

namespace vkf::layer {

// The contents of structs, to be put back.
class SavedStructs {
public:
    SavedStructs() = default;
    ~SavedStructs();
    SavedStructs(const SavedStructs&) = delete;
    SavedStructs& operator=(const SavedStructs&) = delete;
    void save(void* place, size_t bytes);

private:
    struct Saved {
        void* place;
        std::vector<std::byte> bytes;
    };
    std::vector<Saved> all_;
    std::unique_lock<std::mutex> lock_; // from the first struct on
};

// A device's create info with all that vkflash can use.
class DeviceCreation {
public:
    DeviceCreation(const VkDeviceCreateInfo& application, const VkfDeviceRequirements& needed);
    const VkDeviceCreateInfo& info() const { return info_; }
    // Features of vkflash that the create info enables.
    VkfFeatures features() const { return features_; }

private:
    void addExtensions(const VkfDeviceRequirements& needed);
    void addStructs();

    VkDeviceCreateInfo info_;
    VkfFeatures features_;
    std::vector<const char*> extensions_;
    SavedStructs saved_;
    // Structs that the application's chain lacks.
    VkPhysicalDevice16BitStorageFeatures storage16_{};
    VkPhysicalDeviceBufferDeviceAddressFeatures addresses_{};
    VkPhysicalDeviceSubgroupSizeControlFeatures subgroups_{};
    VkPhysicalDeviceVulkanMemoryModelFeatures memoryModel_{};
    VkPhysicalDeviceShaderFloat16Int8Features float16_{};
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices_{};
    VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16_{};
};

// A buffer's create info, with a device address where a storage buffer can have one.
class BufferCreation {
public:
    explicit BufferCreation(const VkBufferCreateInfo& application);
    const VkBufferCreateInfo& info() const { return info_; }
    bool hasAddress() const { return hasAddress_; }

private:
    VkBufferCreateInfo info_;
    bool hasAddress_;
};

// An allocation of memory that buffers with device addresses can use.
class MemoryAllocation {
public:
    explicit MemoryAllocation(const VkMemoryAllocateInfo& application);
    const VkMemoryAllocateInfo& info() const { return info_; }

private:
    VkMemoryAllocateInfo info_;
    VkMemoryAllocateFlagsInfo flags_{};
    SavedStructs saved_;
};

} // namespace vkf::layer
