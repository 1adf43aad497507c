// SPDX-License-Identifier: MIT
//
// vkfEnableFeatures: sets features in a chain of structs that the application owns.
#include <array>
#include <cstddef>

#include <vkflash/vkflash.h>

#include "base/message.hpp"

namespace vkf {
namespace {

// A member of a struct of Vulkan's features.
struct Place {
    VkStructureType type;
    std::size_t offset;
};

// One feature of Vulkan, and the two structs that may hold it: the one of a Vulkan version, and its own.
struct Feature {
    VkfFeatures bit;
    const char* name;
    std::array<Place, 2> places;
    const char* structs; // in messages
};

#define VKF_PLACE(type, Struct, member)                                                                                \
    Place { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type, offsetof(Struct, member) }
#define VKF_FEATURE(bit, member, versionType, Version, ownType, Own)                                                   \
    Feature {                                                                                                          \
        bit, #member, {VKF_PLACE(versionType, Version, member), VKF_PLACE(ownType, Own, member)}, #Version " or " #Own \
    }
#define VKF_EXTENSION_FEATURE(bit, member, ownType, Own)                                                               \
    Feature { bit, #member, {VKF_PLACE(ownType, Own, member), VKF_PLACE(ownType, Own, member)}, #Own }

constexpr std::array features = {
    VKF_FEATURE(VKF_FEATURE_BUFFER_DEVICE_ADDRESS, bufferDeviceAddress, VULKAN_1_2_FEATURES,
                VkPhysicalDeviceVulkan12Features, BUFFER_DEVICE_ADDRESS_FEATURES,
                VkPhysicalDeviceBufferDeviceAddressFeatures),
    VKF_FEATURE(VKF_FEATURE_STORAGE_16BIT, storageBuffer16BitAccess, VULKAN_1_1_FEATURES,
                VkPhysicalDeviceVulkan11Features, 16BIT_STORAGE_FEATURES, VkPhysicalDevice16BitStorageFeatures),
    VKF_FEATURE(VKF_FEATURE_FULL_SUBGROUPS, subgroupSizeControl, VULKAN_1_3_FEATURES, VkPhysicalDeviceVulkan13Features,
                SUBGROUP_SIZE_CONTROL_FEATURES, VkPhysicalDeviceSubgroupSizeControlFeatures),
    VKF_FEATURE(VKF_FEATURE_FULL_SUBGROUPS, computeFullSubgroups, VULKAN_1_3_FEATURES, VkPhysicalDeviceVulkan13Features,
                SUBGROUP_SIZE_CONTROL_FEATURES, VkPhysicalDeviceSubgroupSizeControlFeatures),
    VKF_FEATURE(VKF_FEATURE_COOPERATIVE_MATRIX, vulkanMemoryModel, VULKAN_1_2_FEATURES,
                VkPhysicalDeviceVulkan12Features, VULKAN_MEMORY_MODEL_FEATURES,
                VkPhysicalDeviceVulkanMemoryModelFeatures),
    VKF_FEATURE(VKF_FEATURE_COOPERATIVE_MATRIX, shaderFloat16, VULKAN_1_2_FEATURES, VkPhysicalDeviceVulkan12Features,
                SHADER_FLOAT16_INT8_FEATURES, VkPhysicalDeviceShaderFloat16Int8Features),
    VKF_EXTENSION_FEATURE(VKF_FEATURE_COOPERATIVE_MATRIX, cooperativeMatrix, COOPERATIVE_MATRIX_FEATURES_KHR,
                          VkPhysicalDeviceCooperativeMatrixFeaturesKHR),
    VKF_EXTENSION_FEATURE(VKF_FEATURE_BFLOAT16_MATRIX, shaderBFloat16Type, SHADER_BFLOAT16_FEATURES_KHR,
                          VkPhysicalDeviceShaderBfloat16FeaturesKHR),
    VKF_EXTENSION_FEATURE(VKF_FEATURE_BFLOAT16_MATRIX, shaderBFloat16CooperativeMatrix, SHADER_BFLOAT16_FEATURES_KHR,
                          VkPhysicalDeviceShaderBfloat16FeaturesKHR),
};

#undef VKF_EXTENSION_FEATURE
#undef VKF_FEATURE
#undef VKF_PLACE

// Returns the member of the first struct of the chain that has the feature. Null if no struct has it.
VkBool32* findMember(const Feature& feature, VkBaseOutStructure* chain) {
    for (; chain != nullptr; chain = chain->pNext) {
        for (const Place& place : feature.places) {
            if (chain->sType == place.type) {
                return reinterpret_cast<VkBool32*>(reinterpret_cast<std::byte*>(chain) + place.offset);
            }
        }
    }
    return nullptr;
}

VkfResult enableFeatures(VkfFeatures wanted, VkBaseOutStructure* chain, VkfMessage* message) {
    constexpr VkfFeatures known = 2 * VKF_FEATURE_BINARY_IMPORT - 1;
    if ((wanted & ~known) != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "features has bits 0x%x, which this version does not know",
                    wanted & ~known);
    }
    std::array<VkBool32*, features.size()> members{};
    for (std::size_t i = 0; i < features.size(); i++) {
        if ((wanted & features[i].bit) == 0) {
            continue;
        }
        members[i] = findMember(features[i], chain);
        if (members[i] == nullptr) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "no struct of the chain has %s; add %s", features[i].name,
                        features[i].structs);
        }
    }
    for (VkBool32* member : members) {
        if (member != nullptr) {
            *member = VK_TRUE;
        }
    }
    return VKF_SUCCESS;
}

} // namespace
} // namespace vkf

VkfResult vkfEnableFeatures(VkfFeatures features, void* chain, VkfMessage* message) {
    return vkf::enableFeatures(features, static_cast<VkBaseOutStructure*>(chain), message);
}
