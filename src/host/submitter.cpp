// SPDX-License-Identifier: MIT
#include "host/submitter.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "host/error.hpp"

namespace vkf::host {
namespace {

std::string secondsText(double seconds) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%g", seconds);
    return text.data();
}

// Waits after which a wait that fails each time is given up.
constexpr int maxWaits = 4;

// Returns the handle that create(&handle) makes. A call that fails leaves an undefined handle, which must not reach the
// members that destroy() looks at.
template <typename Handle, typename Create> Handle made(const char* call, const Create& create) {
    Handle handle = VK_NULL_HANDLE;
    check(create(&handle), call);
    return handle;
}

} // namespace

Submitter::Submitter(const LogicalDevice& device, double timestampPeriod, double timeoutSeconds)
    : device_(device), vk_(device.functions()), timestampPeriod_(timestampPeriod), timeoutSeconds_(timeoutSeconds) {
    try {
        create();
    } catch (...) {
        destroy();
        throw;
    }
}

Submitter::~Submitter() { destroy(); }

void Submitter::create() {
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
    pool.queueFamilyIndex = device_.queueFamily();
    pool_ = made<VkCommandPool>("vkCreateCommandPool", [&](VkCommandPool* to) {
        return vk_.CreateCommandPool(device_.handle(), &pool, nullptr, to);
    });

    VkCommandBufferAllocateInfo buffer{};
    buffer.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    buffer.commandPool = pool_;
    buffer.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    buffer.commandBufferCount = 1;
    check(vk_.AllocateCommandBuffers(device_.handle(), &buffer, &commandBuffer_), "vkAllocateCommandBuffers");

    VkFenceCreateInfo fence{};
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    fence_ = made<VkFence>("vkCreateFence",
                           [&](VkFence* to) { return vk_.CreateFence(device_.handle(), &fence, nullptr, to); });

    if (device_.timestampBits() > 0) {
        VkQueryPoolCreateInfo timestamps{};
        timestamps.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
        timestamps.queryType = VK_QUERY_TYPE_TIMESTAMP;
        timestamps.queryCount = 4;
        timestamps_ = made<VkQueryPool>("vkCreateQueryPool", [&](VkQueryPool* to) {
            return vk_.CreateQueryPool(device_.handle(), &timestamps, nullptr, to);
        });
    }
}

void Submitter::destroy() noexcept {
    vk_.DestroyQueryPool(device_.handle(), timestamps_, nullptr);
    vk_.DestroyFence(device_.handle(), fence_, nullptr);
    vk_.DestroyCommandPool(device_.handle(), pool_, nullptr);
}

std::array<double, 2> Submitter::submit(const std::function<void(VkCommandBuffer)>& recordCommands,
                                        const std::function<void(VkCommandBuffer)>& recordBehind) {
    check(vk_.ResetCommandPool(device_.handle(), pool_, 0), "vkResetCommandPool");
    // Before the submission and not after it: a fence that a failed call left signaled would end the next wait at once.
    check(vk_.ResetFences(device_.handle(), 1, &fence_), "vkResetFences");
    record(recordCommands, recordBehind);
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commandBuffer_;
    check(vk_.QueueSubmit(device_.queue(), 1, &info, fence_), "vkQueueSubmit");
    wait();
    return {elapsedSeconds(0), recordBehind ? elapsedSeconds(1) : 0};
}

void Submitter::record(const std::function<void(VkCommandBuffer)>& recordCommands,
                       const std::function<void(VkCommandBuffer)>& recordBehind) {
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    check(vk_.BeginCommandBuffer(commandBuffer_, &begin), "vkBeginCommandBuffer");
    if (timestamps_ != VK_NULL_HANDLE) {
        vk_.CmdResetQueryPool(commandBuffer_, timestamps_, 0, 4);
    }
    recordPart(0, recordCommands);
    if (recordBehind) {
        recordPart(1, recordBehind);
    }
    barrier(VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    check(vk_.EndCommandBuffer(commandBuffer_), "vkEndCommandBuffer");
}

void Submitter::recordPart(uint32_t part, const std::function<void(VkCommandBuffer)>& recordCommands) {
    barrier(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
    if (timestamps_ != VK_NULL_HANDLE) {
        vk_.CmdWriteTimestamp(commandBuffer_, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, timestamps_, 2 * part);
    }
    recordCommands(commandBuffer_);
    if (timestamps_ != VK_NULL_HANDLE) {
        vk_.CmdWriteTimestamp(commandBuffer_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, timestamps_, 2 * part + 1);
    }
}

// Adds a barrier from every write before it.
void Submitter::barrier(VkPipelineStageFlags toStages, VkAccessFlags toAccess) {
    VkMemoryBarrier memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    memory.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
    memory.dstAccessMask = toAccess;
    vk_.CmdPipelineBarrier(commandBuffer_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, toStages, 0, 1, &memory, 0, nullptr, 0,
                           nullptr);
}

void Submitter::wait() {
    // At most a year, so that the nanoseconds fit into the 64 bits of Vulkan.
    const double seconds = std::clamp(timeoutSeconds_, 0.0, 3.2e7);
    const auto nanoseconds = static_cast<uint64_t>(seconds * 1e9);
    VkResult result = VK_ERROR_UNKNOWN;
    // The submission runs on after a wait that failed, and may still use all its memory. So this function ends only
    // when the submission has finished, or when the device counts as lost.
    for (int i = 0; i < maxWaits && result != VK_SUCCESS && result != VK_TIMEOUT && result != VK_ERROR_DEVICE_LOST;
         i++) {
        result = vk_.WaitForFences(device_.handle(), 1, &fence_, VK_TRUE, nanoseconds);
    }
    hangs_ = result != VK_SUCCESS && result != VK_ERROR_DEVICE_LOST;
    if (result == VK_TIMEOUT) {
        throw Error(VKF_ERROR_DEVICE_LOST,
                    "the device has not finished a submission after " + secondsText(timeoutSeconds_) + " seconds");
    }
    if (hangs_) {
        throw Error(VKF_ERROR_DEVICE_LOST, std::string(vulkanError(result, "vkWaitForFences").what()) +
                                               ", so that it is not known when the submission ends");
    }
    check(result, "vkWaitForFences");
}

double Submitter::elapsedSeconds(uint32_t part) {
    if (timestamps_ == VK_NULL_HANDLE) {
        return 0;
    }
    std::array<uint64_t, 2> ticks{};
    check(vk_.GetQueryPoolResults(device_.handle(), timestamps_, 2 * part, 2, sizeof ticks, ticks.data(),
                                  sizeof ticks[0], VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
          "vkGetQueryPoolResults");
    // The counter may wrap around within its valid bits.
    const uint64_t mask = device_.timestampBits() >= 64 ? UINT64_MAX : (uint64_t{1} << device_.timestampBits()) - 1;
    return static_cast<double>((ticks[1] - ticks[0]) & mask) * timestampPeriod_ * 1e-9;
}

} // namespace vkf::host
