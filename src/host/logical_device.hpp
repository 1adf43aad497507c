// SPDX-License-Identifier: MIT
//
// A VkDevice with what vkflash can use enabled, and its one compute queue.
#pragma once

#include <memory>

#include "host/instance.hpp"

namespace vkf::host {

class LogicalDevice {
public:
    // Throws Error(VKF_ERROR_MISSING_FEATURE) if vkflash cannot use the device.
    LogicalDevice(const Instance& instance, VkPhysicalDevice physicalDevice, VkfFeatures withoutFeatures);
    ~LogicalDevice();
    LogicalDevice(const LogicalDevice&) = delete;
    LogicalDevice& operator=(const LogicalDevice&) = delete;

    VkDevice handle() const noexcept { return device_; }
    VkPhysicalDevice physicalDevice() const noexcept { return physicalDevice_; }
    const DeviceFunctions& functions() const noexcept { return *functions_; }
    VkfFeatures features() const noexcept { return features_; }
    bool hasMemoryBudget() const noexcept { return hasMemoryBudget_; }
    bool hasShaderClock() const noexcept { return hasShaderClock_; }
    VkQueue queue() const noexcept { return queue_; }
    uint32_t queueFamily() const noexcept { return queueFamily_; }
    uint32_t timestampBits() const noexcept { return timestampBits_; } // 0 = the queue has no timestamps

private:
    void chooseQueue(const InstanceFunctions& vk);
    void create(const InstanceFunctions& vk, const VkfDeviceRequirements& requirements);
    void destroy() noexcept;

    VkPhysicalDevice physicalDevice_;
    VkfFeatures features_ = 0;
    bool hasMemoryBudget_ = false;
    bool hasShaderClock_ = false;
    uint32_t queueFamily_ = 0;
    uint32_t timestampBits_ = 0;
    VkDevice device_ = VK_NULL_HANDLE;
    // Not one of functions_, because a device without these functions is destroyed too.
    PFN_vkDestroyDevice destroyDevice_ = nullptr;
    std::unique_ptr<DeviceFunctions> functions_;
    VkQueue queue_ = VK_NULL_HANDLE;
};

} // namespace vkf::host
