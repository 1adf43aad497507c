// SPDX-License-Identifier: MIT
#include "caps.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "message.hpp"
#include "quirks.hpp"

namespace vkf {
namespace {

bool hasSubgroupSizeControl(uint32_t apiVersion, const InstanceFunctions& functions, VkPhysicalDevice device) {
    if (apiVersion >= VK_API_VERSION_1_3) {
        return true;
    }
    uint32_t count = 0;
    if (functions.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr) != VK_SUCCESS) {
        return false;
    }
    std::vector<VkExtensionProperties> extensions(count);
    if (functions.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data()) != VK_SUCCESS) {
        return false;
    }
    return std::any_of(extensions.begin(), extensions.end(), [](const VkExtensionProperties& extension) {
        return std::strcmp(extension.extensionName, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME) == 0;
    });
}

void readProperties(const InstanceFunctions& functions, VkPhysicalDevice device, bool sizeControl, Caps* caps) {
    VkPhysicalDeviceSubgroupSizeControlProperties sizes{};
    sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES;
    VkPhysicalDeviceDriverProperties driver{};
    driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    driver.pNext = sizeControl ? &sizes : nullptr;
    VkPhysicalDeviceSubgroupProperties subgroup{};
    subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    subgroup.pNext = &driver;
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &subgroup;
    functions.vkGetPhysicalDeviceProperties2(device, &properties);

    const VkPhysicalDeviceLimits& limits = properties.properties.limits;
    caps->driver = driver.driverID;
    caps->maxSharedMemoryBytes = limits.maxComputeSharedMemorySize;
    caps->maxInvocations = std::min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]);
    caps->maxGroupCount = limits.maxComputeWorkGroupCount[0];
    caps->subgroupSize = subgroup.subgroupSize;
    caps->subgroupShuffle = (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                            (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) != 0;
    caps->subgroupSizeRequired = (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
}

void readFeatures(const InstanceFunctions& functions, VkPhysicalDevice device, bool sizeControl, Caps* caps) {
    VkPhysicalDeviceSubgroupSizeControlFeatures subgroups{};
    subgroups.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
    VkPhysicalDeviceBufferDeviceAddressFeatures address{};
    address.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES;
    address.pNext = sizeControl ? &subgroups : nullptr;
    VkPhysicalDevice16BitStorageFeatures storage{};
    storage.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
    storage.pNext = &address;
    VkPhysicalDeviceFeatures2 features{};
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features.pNext = &storage;
    functions.vkGetPhysicalDeviceFeatures2(device, &features);

    const bool fullSubgroups = subgroups.subgroupSizeControl == VK_TRUE && subgroups.computeFullSubgroups == VK_TRUE;
    const struct {
        bool supported;
        VkfFeatures bit;
    } bits[] = {
        {address.bufferDeviceAddress == VK_TRUE, VKF_FEATURE_BUFFER_DEVICE_ADDRESS},
        {storage.storageBuffer16BitAccess == VK_TRUE, VKF_FEATURE_STORAGE_16BIT},
        {fullSubgroups, VKF_FEATURE_FULL_SUBGROUPS},
    };
    for (const auto& feature : bits) {
        caps->features |= feature.supported ? feature.bit : 0;
    }
}

} // namespace

VkfResult readCaps(const VkfDeviceQuery& query, Caps* caps, VkfMessage* message) {
    if (query.getInstanceProcAddr == nullptr || query.instance == VK_NULL_HANDLE ||
        query.physicalDevice == VK_NULL_HANDLE) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                    "getInstanceProcAddr, instance and physicalDevice must not be null");
    }
    InstanceFunctions functions;
    if (const VkfResult result = loadInstanceFunctions(query.getInstanceProcAddr, query.instance, &functions, message);
        result != VKF_SUCCESS) {
        return result;
    }
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    functions.vkGetPhysicalDeviceProperties2(query.physicalDevice, &properties);
    const uint32_t apiVersion = properties.properties.apiVersion;
    if (apiVersion < VK_API_VERSION_1_2) {
        return fail(message, VKF_ERROR_MISSING_FEATURE, "the device has Vulkan %u.%u; 1.2 is needed",
                    VK_API_VERSION_MAJOR(apiVersion), VK_API_VERSION_MINOR(apiVersion));
    }
    Caps read;
    read.apiVersion = apiVersion;
    const bool sizeControl = hasSubgroupSizeControl(apiVersion, functions, query.physicalDevice);
    readProperties(functions, query.physicalDevice, sizeControl, &read);
    readFeatures(functions, query.physicalDevice, sizeControl, &read);
    read.quirks = driverQuirks(read.driver);
    if ((read.features & VKF_FEATURE_BUFFER_DEVICE_ADDRESS) == 0) {
        return fail(message, VKF_ERROR_MISSING_FEATURE, "the device has no bufferDeviceAddress");
    }
    *caps = read;
    return VKF_SUCCESS;
}

} // namespace vkf
