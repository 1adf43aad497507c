// SPDX-License-Identifier: MIT
//
// What an application enables on its device before it creates it.
#include <vkflash/vkflash.h>

#include "boundary.hpp"
#include "caps.hpp"
#include "versioned.hpp"

namespace vkf {
namespace {

VkBool32 enabledIf(VkfFeatures features, VkfFeatureBits bit) {
    return (features & static_cast<VkfFeatures>(bit)) != 0 ? VK_TRUE : VK_FALSE;
}

void fillRequirements(const Caps& caps, VkfDeviceRequirements* r) {
    r->usableFeatures = caps.features;
    r->neededFeatures = VKF_FEATURE_BUFFER_DEVICE_ADDRESS;
    const bool subgroups = (caps.features & VKF_FEATURE_FULL_SUBGROUPS) != 0;
    if (subgroups && caps.apiVersion < VK_API_VERSION_1_3) {
        r->extensions[r->extensionCount++] = VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME;
    }

    r->subgroupSizeControl.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
    r->subgroupSizeControl.subgroupSizeControl = enabledIf(caps.features, VKF_FEATURE_FULL_SUBGROUPS);
    r->subgroupSizeControl.computeFullSubgroups = r->subgroupSizeControl.subgroupSizeControl;
    r->bufferDeviceAddress.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES;
    r->bufferDeviceAddress.bufferDeviceAddress = VK_TRUE;
    r->bufferDeviceAddress.pNext = subgroups ? &r->subgroupSizeControl : nullptr;
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
