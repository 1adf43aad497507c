// SPDX-License-Identifier: MIT
//
// One submission at a time: record, submit, wait, read the time.
#pragma once

#include <array>
#include <functional>

#include "host/logical_device.hpp"

namespace vkf::host {

class Submitter {
public:
    Submitter(const LogicalDevice& device, double timestampPeriod, double timeoutSeconds);
    ~Submitter();
    Submitter(const Submitter&) = delete;
    Submitter& operator=(const Submitter&) = delete;

    // Submits two parts and returns the seconds of each. recordBehind, the second part, may be empty. Throws
    // Error(VKF_ERROR_DEVICE_LOST) if the device is lost or does not finish in time.
    std::array<double, 2> submit(const std::function<void(VkCommandBuffer)>& record,
                                 const std::function<void(VkCommandBuffer)>& recordBehind);

    // Whether a submission did not finish, as far as is known. The device may then still use everything that belongs to
    // it.
    bool hangs() const noexcept { return hangs_; }

private:
    void create();
    void destroy() noexcept;
    void record(const std::function<void(VkCommandBuffer)>& record,
                const std::function<void(VkCommandBuffer)>& recordBehind);
    void recordPart(uint32_t part, const std::function<void(VkCommandBuffer)>& record);
    void barrier(VkPipelineStageFlags toStages, VkAccessFlags toAccess);
    void wait();
    double elapsedSeconds(uint32_t part);

    const LogicalDevice& device_;
    const DeviceFunctions& vk_;
    double timestampPeriod_; // nanoseconds
    double timeoutSeconds_;
    bool hangs_ = false;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commandBuffer_ = VK_NULL_HANDLE;
    VkFence fence_ = VK_NULL_HANDLE;
    VkQueryPool timestamps_ = VK_NULL_HANDLE; // two for each part; null if the queue has no timestamps
};

} // namespace vkf::host
