// SPDX-License-Identifier: MIT
#include "host/logical_device.hpp"

#include <vkflash/vkflash.hpp>

#include "host/enumerate.hpp"

namespace vkf::host {
namespace {

// The specification requires that this extension is enabled wherever it is offered.
constexpr const char* portabilitySubsetExtension = "VK_KHR_portability_subset";

struct FreeRequirements {
    VkfDeviceRequirements* requirements;
    ~FreeRequirements() { vkfFreeDeviceRequirements(requirements); }
};

// Returns the rank of a queue family; 0 = no compute. Timestamps count most. Then a queue without graphics is better:
// the drawing of a desktop does not share it, and no display watchdog looks at it.
int queueRank(const VkQueueFamilyProperties& family) {
    if ((family.queueFlags & VK_QUEUE_COMPUTE_BIT) == 0 || family.queueCount == 0) {
        return 0;
    }
    return 1 + (family.timestampValidBits > 0 ? 2 : 0) + ((family.queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0 ? 1 : 0);
}

// Returns the features of the shader clock. vkflash does not need it, but programs that measure want it.
VkPhysicalDeviceShaderClockFeaturesKHR shaderClockOf(const InstanceFunctions& vk, VkPhysicalDevice device) {
    VkPhysicalDeviceShaderClockFeaturesKHR clock{};
    clock.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR;
    VkPhysicalDeviceFeatures2 features{};
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features.pNext = &clock;
    vk.GetPhysicalDeviceFeatures2(device, &features);
    clock.shaderDeviceClock = VK_FALSE;
    return clock;
}

} // namespace

LogicalDevice::LogicalDevice(const Instance& instance, VkPhysicalDevice physicalDevice, VkfFeatures withoutFeatures)
    : physicalDevice_(physicalDevice) {
    auto query = make<VkfDeviceQuery>();
    query.getInstanceProcAddr = instance.getInstanceProcAddr();
    query.instance = instance.handle();
    query.physicalDevice = physicalDevice;
    query.withoutFeatures = withoutFeatures;
    auto requirements = make<VkfDeviceRequirements>();
    VkfMessage message{};
    check(vkfGetDeviceRequirements(&query, &requirements, &message), message);
    const FreeRequirements owner{&requirements};
    features_ = requirements.usableFeatures;
    chooseQueue(instance.functions());
    create(instance.functions(), requirements);
    try {
        functions_ = std::make_unique<DeviceFunctions>(instance.functions().GetDeviceProcAddr, device_);
    } catch (...) {
        destroy();
        throw;
    }
    functions_->GetDeviceQueue(device_, queueFamily_, 0, &queue_);
}

LogicalDevice::~LogicalDevice() { destroy(); }

void LogicalDevice::destroy() noexcept {
    if (destroyDevice_ != nullptr) {
        destroyDevice_(device_, nullptr);
    }
}

void LogicalDevice::chooseQueue(const InstanceFunctions& vk) {
    uint32_t count = 0;
    vk.GetPhysicalDeviceQueueFamilyProperties(physicalDevice_, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vk.GetPhysicalDeviceQueueFamilyProperties(physicalDevice_, &count, families.data());
    int best = 0;
    for (uint32_t i = 0; i < count; ++i) {
        if (const int rank = queueRank(families[i]); rank > best) {
            best = rank;
            queueFamily_ = i;
            timestampBits_ = families[i].timestampValidBits;
        }
    }
    if (best == 0) {
        throw Error(VKF_ERROR_MISSING_FEATURE, "the device has no queue for compute");
    }
}

void LogicalDevice::create(const InstanceFunctions& vk, const VkfDeviceRequirements& requirements) {
    std::vector<const char*> extensions(requirements.extensions, requirements.extensions + requirements.extensionCount);
    const auto offered =
        enumerate<VkExtensionProperties>("vkEnumerateDeviceExtensionProperties", vk.EnumerateDeviceExtensionProperties,
                                         physicalDevice_, static_cast<const char*>(nullptr));
    hasMemoryBudget_ = contains(offered, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    if (hasMemoryBudget_) {
        extensions.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    }
    if (contains(offered, portabilitySubsetExtension)) {
        extensions.push_back(portabilitySubsetExtension);
    }

    VkPhysicalDeviceShaderClockFeaturesKHR shaderClock{};
    if (contains(offered, VK_KHR_SHADER_CLOCK_EXTENSION_NAME)) {
        extensions.push_back(VK_KHR_SHADER_CLOCK_EXTENSION_NAME);
        shaderClock = shaderClockOf(vk, physicalDevice_);
        hasShaderClock_ = shaderClock.shaderSubgroupClock != VK_FALSE;
    }

    const float priority = 1.0F;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = queueFamily_;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = requirements.features;
    if (hasShaderClock_) {
        shaderClock.pNext = const_cast<void*>(requirements.features); // which no driver writes to
        info.pNext = &shaderClock;
    }
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    check(vk.CreateDevice(physicalDevice_, &info, nullptr, &device_), "vkCreateDevice");
    destroyDevice_ = reinterpret_cast<PFN_vkDestroyDevice>(vk.GetDeviceProcAddr(device_, "vkDestroyDevice"));
}

} // namespace vkf::host
