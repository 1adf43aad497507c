// SPDX-License-Identifier: MIT
#include "host/summary.hpp"

#include <vkflash/vkflash.hpp>

#include "host/enumerate.hpp"

namespace vkf::host {
namespace {

DeviceKind kindOf(VkPhysicalDeviceType type) {
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return DeviceKind::discrete;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return DeviceKind::integrated;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return DeviceKind::virtualGpu;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return DeviceKind::cpu;
    default:
        return DeviceKind::other;
    }
}

void readLimits(const VkPhysicalDeviceProperties& properties, DeviceSummary& summary) {
    const VkPhysicalDeviceLimits& limits = properties.limits;
    summary.name = properties.deviceName;
    summary.kind = kindOf(properties.deviceType);
    summary.apiVersion = properties.apiVersion;
    summary.vendorId = properties.vendorID;
    summary.deviceId = properties.deviceID;
    summary.sharedMemoryBytes = limits.maxComputeSharedMemorySize;
    summary.maxInvocations = limits.maxComputeWorkGroupInvocations;
    summary.maxGroupCountX = limits.maxComputeWorkGroupCount[0];
    summary.maxPushConstantBytes = limits.maxPushConstantsSize;
    summary.timestampPeriod = limits.timestampPeriod;
}

// These properties are part of Vulkan 1.2. An older device need not know them.
void readDriver(const InstanceFunctions& vk, VkPhysicalDevice device, DeviceSummary& summary) {
    VkPhysicalDeviceSubgroupProperties subgroup{};
    subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    VkPhysicalDeviceDriverProperties driver{};
    driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    driver.pNext = &subgroup;
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &driver;
    vk.GetPhysicalDeviceProperties2(device, &properties);
    summary.driver = std::string(driver.driverName) + " " + driver.driverInfo;
    summary.driverId = driver.driverID;
    summary.subgroupSize = subgroup.subgroupSize;
}

void readHeaps(const InstanceFunctions& vk, VkPhysicalDevice device, DeviceSummary& summary) {
    VkPhysicalDeviceMemoryProperties memory{};
    vk.GetPhysicalDeviceMemoryProperties(device, &memory);
    for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
        const VkMemoryHeap& heap = memory.memoryHeaps[i];
        summary.heaps.push_back({heap.size, (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0});
    }
}

void readUsability(const Instance& instance, VkPhysicalDevice device, DeviceSummary& summary) {
    auto query = make<VkfDeviceQuery>();
    query.getInstanceProcAddr = instance.getInstanceProcAddr();
    query.instance = instance.handle();
    query.physicalDevice = device;
    auto requirements = make<VkfDeviceRequirements>();
    VkfMessage message{};
    summary.usable = vkfGetDeviceRequirements(&query, &requirements, &message);
    if (summary.usable != VKF_SUCCESS && summary.usable != VKF_ERROR_MISSING_FEATURE) {
        throw Error(summary.usable, message.text); // a failure of this moment says nothing about the device
    }
    summary.features = requirements.usableFeatures;
    vkfFreeDeviceRequirements(&requirements);
    summary.reason = message.text;
}

DeviceSummary summarizeDevice(const Instance& instance, VkPhysicalDevice device, uint32_t index) {
    const InstanceFunctions& vk = instance.functions();
    DeviceSummary summary;
    summary.index = index;
    VkPhysicalDeviceProperties properties{};
    vk.GetPhysicalDeviceProperties(device, &properties);
    readLimits(properties, summary);
    if (summary.apiVersion >= VK_API_VERSION_1_2) {
        readDriver(vk, device, summary);
    }
    readHeaps(vk, device, summary);
    const auto extensions =
        enumerate<VkExtensionProperties>("vkEnumerateDeviceExtensionProperties", vk.EnumerateDeviceExtensionProperties,
                                         device, static_cast<const char*>(nullptr));
    for (const VkExtensionProperties& extension : extensions) {
        summary.extensions.emplace_back(extension.extensionName);
    }
    readUsability(instance, device, summary);
    return summary;
}

} // namespace

std::vector<DeviceSummary> summarize(const Instance& instance) {
    std::vector<DeviceSummary> summaries;
    for (VkPhysicalDevice device : instance.physicalDevices()) {
        summaries.push_back(summarizeDevice(instance, device, static_cast<uint32_t>(summaries.size())));
    }
    return summaries;
}

std::vector<DeviceSummary> listDevices(PFN_vkGetInstanceProcAddr getInstanceProcAddr) {
    return summarize(Instance(nullptr, getInstanceProcAddr));
}

} // namespace vkf::host
