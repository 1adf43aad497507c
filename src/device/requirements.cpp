// SPDX-License-Identifier: MIT
//
// Tells an application what to enable when it creates its device.
#include <array>
#include <memory>

#include <vkflash/vkflash.h>

#include "base/boundary.hpp"
#include "device/caps.hpp"
#include "device/first_sizes.hpp"

namespace vkf {
namespace {

// The memory behind the pointers of VkfDeviceRequirements, which points to `features` and to `extensions`.
struct RequestChain {
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, nullptr, {}};
    VkPhysicalDevice16BitStorageFeatures storage16{};
    VkPhysicalDeviceBufferDeviceAddressFeatures bufferDeviceAddress{};
    VkPhysicalDeviceSubgroupSizeControlFeatures subgroupSizeControl{};
    VkPhysicalDeviceVulkanMemoryModelFeatures vulkanMemoryModel{};
    VkPhysicalDeviceShaderFloat16Int8Features float16{};
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR cooperativeMatrix{};
    VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16{};
    std::array<const char*, 4> extensions{};
    uint32_t extensionCount = 0;

    // Links a struct in behind the first one.
    template <typename Struct> Struct& add(Struct& added, VkStructureType type) {
        added.sType = type;
        added.pNext = features.pNext;
        features.pNext = &added;
        return added;
    }
    void addExtension(const char* name) { extensions[extensionCount++] = name; }
};

void addMatrixFeatures(VkfFeatures usable, RequestChain* chain) {
    chain->addExtension(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
    chain->add(chain->vulkanMemoryModel, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES)
        .vulkanMemoryModel = VK_TRUE;
    chain->add(chain->float16, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES).shaderFloat16 = VK_TRUE;
    chain->add(chain->cooperativeMatrix, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR)
        .cooperativeMatrix = VK_TRUE;
    if ((usable & VKF_FEATURE_BFLOAT16_MATRIX) != 0) {
        chain->addExtension(VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME);
        chain->add(chain->bfloat16, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR);
        chain->bfloat16.shaderBFloat16Type = VK_TRUE;
        chain->bfloat16.shaderBFloat16CooperativeMatrix = VK_TRUE;
    }
}

std::unique_ptr<RequestChain> chainOf(const Caps& caps) {
    auto chain = std::make_unique<RequestChain>();
    chain->add(chain->bufferDeviceAddress, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES)
        .bufferDeviceAddress = VK_TRUE;
    if ((caps.features & VKF_FEATURE_STORAGE_16BIT) != 0) {
        chain->add(chain->storage16, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES)
            .storageBuffer16BitAccess = VK_TRUE;
    }
    if ((caps.features & VKF_FEATURE_FULL_SUBGROUPS) != 0) {
        // An application for Vulkan 1.2 needs it on devices of any version.
        if (caps.subgroupSizeExtension) {
            chain->addExtension(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
        }
        chain->add(chain->subgroupSizeControl, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
        chain->subgroupSizeControl.subgroupSizeControl = VK_TRUE;
        chain->subgroupSizeControl.computeFullSubgroups = VK_TRUE;
    }
    if ((caps.features & VKF_FEATURE_COOPERATIVE_MATRIX) != 0) {
        addMatrixFeatures(caps.features, chain.get());
    }
    if ((caps.features & VKF_FEATURE_BINARY_IMPORT) != 0) {
        chain->addExtension(VK_NVX_BINARY_IMPORT_EXTENSION_NAME);
    }
    return chain;
}

VkfResult getRequirements(const VkfDeviceQuery* query, VkfDeviceRequirements* requirements, VkfMessage* message) {
    Caps caps;
    if (const VkfResult result = queryCaps(query, &caps, message); result != VKF_SUCCESS) {
        return result;
    }
    if (const VkfResult result = checkStructSize(requirements, "requirements", message); result != VKF_SUCCESS) {
        return result;
    }
    std::unique_ptr<RequestChain> chain = chainOf(caps);
    VkfDeviceRequirements made{};
    made.usableFeatures = caps.features;
    made.neededFeatures = VKF_FEATURE_BUFFER_DEVICE_ADDRESS;
    made.extensions = chain->extensionCount != 0 ? chain->extensions.data() : nullptr;
    made.extensionCount = chain->extensionCount;
    made.features = chain.release(); // vkfFreeDeviceRequirements deletes it
    return writeVersioned(made, requirements, "requirements", message);
}

} // namespace

VkfResult queryCaps(const VkfDeviceQuery* query, Caps* caps, VkfMessage* message) {
    VkfDeviceQuery known{};
    if (const VkfResult result = readVersioned(query, &known, "query", message); result != VKF_SUCCESS) {
        return result;
    }
    constexpr VkfFeatures removable = 2 * VKF_FEATURE_BINARY_IMPORT - 1 - VKF_FEATURE_BUFFER_DEVICE_ADDRESS;
    if ((known.withoutFeatures & ~removable) != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "withoutFeatures has bits 0x%x, which cannot be left out",
                    known.withoutFeatures & ~removable);
    }
    if (known.reserved != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "the reserved field of query is not zero");
    }
    if (const VkfResult result = readCaps(known, caps, message); result != VKF_SUCCESS) {
        return result;
    }
    caps->features &= ~known.withoutFeatures;
    if ((caps->features & VKF_FEATURE_COOPERATIVE_MATRIX) == 0) {
        caps->features &= ~static_cast<VkfFeatures>(VKF_FEATURE_BFLOAT16_MATRIX);
    }
    return VKF_SUCCESS;
}

} // namespace vkf

VkfResult vkfGetDeviceRequirements(const VkfDeviceQuery* query, VkfDeviceRequirements* requirements,
                                   VkfMessage* message) {
    return vkf::guarded(message, [&] { return vkf::getRequirements(query, requirements, message); });
}

void vkfFreeDeviceRequirements(VkfDeviceRequirements* requirements) {
    if (requirements != nullptr) {
        delete static_cast<const vkf::RequestChain*>(requirements->features);
        requirements->features = nullptr;
        requirements->extensions = nullptr;
        requirements->extensionCount = 0;
    }
}
