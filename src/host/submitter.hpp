// SPDX-License-Identifier: MIT
//
// One submission at a time: record, submit, wait, read the time.
#pragma once

#include <functional>

#include "logical_device.hpp"

namespace vkf::host {

class Submitter {
public:
    Submitter(const LogicalDevice& device, double timestampPeriod, double timeoutSeconds);
    ~Submitter();
    Submitter(const Submitter&) = delete;
    Submitter& operator=(const Submitter&) = delete;

    // Throws Error(VKF_ERROR_DEVICE_LOST) if the device is lost or does not finish in time.
    double submit(const std::function<void(VkCommandBuffer)>& record);

    // A submission did not finish in time: the device may still use everything that it was given.
    bool hangs() const noexcept { return hangs_; }

private:
    void create();
    void destroy() noexcept;
    void record(const std::function<void(VkCommandBuffer)>& record);
    void barrier(VkPipelineStageFlags toStages, VkAccessFlags toAccess);
    void wait();
    double elapsedSeconds();

    const LogicalDevice& device_;
    const DeviceFunctions& vk_;
    double timestampPeriod_; // nanoseconds
    double timeoutSeconds_;
    bool hangs_ = false;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commandBuffer_ = VK_NULL_HANDLE;
    VkFence fence_ = VK_NULL_HANDLE;
    VkQueryPool timestamps_ = VK_NULL_HANDLE; // null if the queue has none
};

} // namespace vkf::host
