// SPDX-License-Identifier: MIT
#include "creation.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace vkf::layer {
namespace {

// Finds a struct of a chain. The structs are the application's, which the classes of creation.hpp may change.
VkBaseOutStructure* find(const void* chain, VkStructureType type) {
    auto* here = static_cast<VkBaseOutStructure*>(const_cast<void*>(chain));
    while (here != nullptr && here->sType != type) {
        here = here->pNext;
    }
    return here;
}

// A struct that holds features of vkflash, by itself or with others of a version of Vulkan.
struct FeatureStruct {
    VkfFeatureBits feature;
    VkStructureType own, ofVersion;
    size_t ownBytes;
};
constexpr std::array featureStructs = {
    FeatureStruct{VKF_FEATURE_BUFFER_DEVICE_ADDRESS, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                  sizeof(VkPhysicalDeviceBufferDeviceAddressFeatures)},
    FeatureStruct{VKF_FEATURE_STORAGE_16BIT, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, sizeof(VkPhysicalDevice16BitStorageFeatures)},
    FeatureStruct{VKF_FEATURE_FULL_SUBGROUPS, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                  sizeof(VkPhysicalDeviceSubgroupSizeControlFeatures)},
    FeatureStruct{VKF_FEATURE_COOPERATIVE_MATRIX, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                  sizeof(VkPhysicalDeviceVulkanMemoryModelFeatures)},
    FeatureStruct{VKF_FEATURE_COOPERATIVE_MATRIX, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                  sizeof(VkPhysicalDeviceShaderFloat16Int8Features)},
    FeatureStruct{VKF_FEATURE_COOPERATIVE_MATRIX, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
                  VK_STRUCTURE_TYPE_MAX_ENUM, sizeof(VkPhysicalDeviceCooperativeMatrixFeaturesKHR)},
    FeatureStruct{VKF_FEATURE_BFLOAT16_MATRIX, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR,
                  VK_STRUCTURE_TYPE_MAX_ENUM, sizeof(VkPhysicalDeviceShaderBfloat16FeaturesKHR)},
};

struct VersionStruct {
    VkStructureType type;
    size_t bytes;
};
constexpr std::array versionStructs = {
    VersionStruct{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, sizeof(VkPhysicalDeviceVulkan11Features)},
    VersionStruct{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, sizeof(VkPhysicalDeviceVulkan12Features)},
    VersionStruct{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, sizeof(VkPhysicalDeviceVulkan13Features)},
};

} // namespace

SavedStructs::~SavedStructs() {
    for (const Saved& saved : all_) {
        std::memcpy(saved.place, saved.bytes.data(), saved.bytes.size());
    }
}

void SavedStructs::save(void* place, size_t bytes) {
    if (place != nullptr) {
        static std::mutex mutex;
        if (!lock_.owns_lock()) {
            lock_ = std::unique_lock(mutex);
        }
        const auto* begin = static_cast<const std::byte*>(place);
        all_.push_back({place, {begin, begin + bytes}});
    }
}

DeviceCreation::DeviceCreation(const VkDeviceCreateInfo& application, const VkfDeviceRequirements& needed)
    : info_(application), features_(needed.usableFeatures) {
    addExtensions(needed);
    for (const VersionStruct& version : versionStructs) {
        saved_.save(find(application.pNext, version.type), version.bytes);
    }
    for (const FeatureStruct& known : featureStructs) {
        saved_.save(find(application.pNext, known.own), known.ownBytes);
    }
    addStructs();
    if (vkfEnableFeatures(features_, const_cast<void*>(info_.pNext), nullptr) != VKF_SUCCESS) {
        features_ = 0;
    }
}

void DeviceCreation::addExtensions(const VkfDeviceRequirements& needed) {
    extensions_.assign(info_.ppEnabledExtensionNames, info_.ppEnabledExtensionNames + info_.enabledExtensionCount);
    for (uint32_t i = 0; i < needed.extensionCount; i++) {
        const char* name = needed.extensions[i];
        if (std::none_of(extensions_.begin(), extensions_.end(),
                         [=](const char* other) { return std::strcmp(name, other) == 0; })) {
            extensions_.push_back(name);
        }
    }
    info_.ppEnabledExtensionNames = extensions_.data();
    info_.enabledExtensionCount = static_cast<uint32_t>(extensions_.size());
}

void DeviceCreation::addStructs() {
    const std::array<void*, featureStructs.size()> places = {&addresses_, &storage16_, &subgroups_, &memoryModel_,
                                                             &float16_,   &matrices_,  &bfloat16_};
    for (size_t i = 0; i < places.size(); i++) {
        const FeatureStruct& known = featureStructs[i];
        const bool there = find(info_.pNext, known.own) != nullptr || find(info_.pNext, known.ofVersion) != nullptr;
        if ((features_ & static_cast<VkfFeatures>(known.feature)) != 0 && !there) {
            auto* added = static_cast<VkBaseOutStructure*>(places[i]);
            added->sType = known.own;
            added->pNext = static_cast<VkBaseOutStructure*>(const_cast<void*>(info_.pNext));
            info_.pNext = added;
        }
    }
}

BufferCreation::BufferCreation(const VkBufferCreateInfo& application) : info_(application), hasAddress_(false) {
    // Flags in a struct of the chain take the place of `usage`.
    const bool plain = find(application.pNext, VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO) == nullptr;
    const bool possible = (application.flags & VK_BUFFER_CREATE_PROTECTED_BIT) == 0;
    if (plain && possible && (application.usage & VK_BUFFER_USAGE_STORAGE_BUFFER_BIT) != 0) {
        info_.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
        hasAddress_ = true;
    }
}

MemoryAllocation::MemoryAllocation(const VkMemoryAllocateInfo& application) : info_(application) {
    auto* theirs = reinterpret_cast<VkMemoryAllocateFlagsInfo*>(
        find(application.pNext, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO));
    if (theirs == nullptr) {
        flags_.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
        flags_.pNext = application.pNext;
        flags_.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
        info_.pNext = &flags_;
    } else if (static_cast<const void*>(theirs) == application.pNext) {
        flags_ = *theirs;
        flags_.flags |= VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
        info_.pNext = &flags_;
    } else if ((theirs->flags & VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT) == 0) {
        saved_.save(theirs, sizeof *theirs);
        theirs->flags |= VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    }
}

} // namespace vkf::layer
