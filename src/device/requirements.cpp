// SPDX-License-Identifier: MIT
//
// What an application enables on its device before it creates it.
#include <vkflash/vkflash.h>

#include "base/boundary.hpp"
#include "base/versioned.hpp"
#include "device/caps.hpp"

namespace vkf {
namespace {

VkBool32 enabledIf(VkfFeatures features, VkfFeatureBits bit) {
    return (features & static_cast<VkfFeatures>(bit)) != 0 ? VK_TRUE : VK_FALSE;
}

// A chain from vulkanMemoryModel on, of use only with matrices.
void fillMatrixFeatures(bool matrices, bool bfloat16, VkfDeviceRequirements* r) {
    r->vulkanMemoryModel.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES;
    r->vulkanMemoryModel.pNext = &r->float16;
    r->vulkanMemoryModel.vulkanMemoryModel = matrices ? VK_TRUE : VK_FALSE;
    r->float16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
    r->float16.pNext = &r->cooperativeMatrix;
    r->float16.shaderFloat16 = matrices ? VK_TRUE : VK_FALSE;
    r->cooperativeMatrix.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
    r->cooperativeMatrix.pNext = bfloat16 ? &r->bfloat16 : nullptr;
    r->cooperativeMatrix.cooperativeMatrix = matrices ? VK_TRUE : VK_FALSE;
    r->bfloat16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR;
    r->bfloat16.shaderBFloat16Type = bfloat16 ? VK_TRUE : VK_FALSE;
    r->bfloat16.shaderBFloat16CooperativeMatrix = bfloat16 ? VK_TRUE : VK_FALSE;
}

void fillRequirements(const Caps& caps, VkfDeviceRequirements* r) {
    r->usableFeatures = caps.features;
    r->neededFeatures = VKF_FEATURE_BUFFER_DEVICE_ADDRESS;
    const bool subgroups = (caps.features & VKF_FEATURE_FULL_SUBGROUPS) != 0;
    if (subgroups && caps.apiVersion < VK_API_VERSION_1_3) {
        r->extensions[r->extensionCount++] = VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME;
    }

    const bool matrices = (caps.features & VKF_FEATURE_COOPERATIVE_MATRIX) != 0;
    const bool bfloat16 = (caps.features & VKF_FEATURE_BFLOAT16_MATRIX) != 0;
    if (matrices) {
        r->extensions[r->extensionCount++] = VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;
    }
    if (bfloat16) {
        r->extensions[r->extensionCount++] = VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME;
    }
    fillMatrixFeatures(matrices, bfloat16, r);

    r->subgroupSizeControl.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
    r->subgroupSizeControl.subgroupSizeControl = enabledIf(caps.features, VKF_FEATURE_FULL_SUBGROUPS);
    r->subgroupSizeControl.computeFullSubgroups = r->subgroupSizeControl.subgroupSizeControl;
    r->bufferDeviceAddress.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES;
    r->bufferDeviceAddress.bufferDeviceAddress = VK_TRUE;
    void* const matrixFeatures = matrices ? &r->vulkanMemoryModel : nullptr;
    r->subgroupSizeControl.pNext = matrixFeatures;
    r->bufferDeviceAddress.pNext = subgroups ? &r->subgroupSizeControl : matrixFeatures;
    r->storage16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
    r->storage16.storageBuffer16BitAccess = enabledIf(caps.features, VKF_FEATURE_STORAGE_16BIT);
    r->storage16.pNext = &r->bufferDeviceAddress;
    r->features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    r->features.pNext = &r->storage16;
}

} // namespace
} // namespace vkf

VkfResult vkfGetDeviceRequirements(const VkfDeviceQuery* query, VkfDeviceRequirements* requirements,
                                   VkfMessage* message) {
    return vkf::guarded(message, [&] {
        VkfDeviceQuery known{};
        vkf::Caps caps;
        if (const VkfResult result = vkf::readVersioned(query, &known, "query", message); result != VKF_SUCCESS) {
            return result;
        }
        VkfDeviceRequirements size{};
        if (const VkfResult result = vkf::readVersioned(requirements, &size, "requirements", message);
            result != VKF_SUCCESS) {
            return result;
        }
        if (const VkfResult result = vkf::readCaps(known, &caps, message); result != VKF_SUCCESS) {
            return result;
        }
        *requirements = VkfDeviceRequirements{};
        requirements->structSize = sizeof *requirements;
        vkf::fillRequirements(caps, requirements);
        return VKF_SUCCESS;
    });
}
