// SPDX-License-Identifier: MIT
#include "device/queue.hpp"

#include <string>

namespace vkf::mpi {

void check(VkResult result, const char* call) {
    if (result == VK_SUCCESS) {
        return;
    }
    VkfResult code = VKF_ERROR_VULKAN;
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        code = VKF_ERROR_OUT_OF_HOST_MEMORY;
        break;
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        code = VKF_ERROR_OUT_OF_DEVICE_MEMORY;
        break;
    case VK_ERROR_DEVICE_LOST:
        code = VKF_ERROR_DEVICE_LOST;
        break;
    default:
        break;
    }
    const std::string reason = code == VKF_ERROR_VULKAN ? "VkResult " + std::to_string(result) : vkfResultString(code);
    throw host::Error(code, std::string(call) + " failed: " + reason);
}

void check(VkfResult result, const VkfMessage& message) {
    if (result != VKF_SUCCESS) {
        throw host::Error(result, message.text);
    }
}

Queue::Queue(const DeviceFunctions& functions, VkDevice device, uint32_t family, VkQueue queue)
    : vk_(functions), device_(device), queue_(queue) {
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = family;
    check(vk_.CreateCommandPool(device_, &pool, nullptr, &pool_), "vkCreateCommandPool");
    VkSemaphoreTypeCreateInfo type{};
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo semaphore{};
    semaphore.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    semaphore.pNext = &type;
    const VkResult result = vk_.CreateSemaphore(device_, &semaphore, nullptr, &timeline_);
    if (result != VK_SUCCESS) {
        timeline_ = VK_NULL_HANDLE;
        destroy();
        check(result, "vkCreateSemaphore");
    }
}

Queue::~Queue() { destroy(); }

void Queue::destroy() noexcept {
    vk_.DestroySemaphore(device_, timeline_, nullptr);
    vk_.DestroyCommandPool(device_, pool_, nullptr);
}

VkCommandBuffer Queue::freeCommands() {
    if (!used_.empty() && wait(used_.front().first, 0)) {
        VkCommandBuffer commands = used_.front().second;
        used_.pop_front();
        return commands;
    }
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = pool_;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    check(vk_.AllocateCommandBuffers(device_, &info, &commands), "vkAllocateCommandBuffers");
    return commands;
}

Moment Queue::submit(const Record& record, std::initializer_list<Moment> after) {
    VkCommandBuffer commands = freeCommands();
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    check(vk_.BeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    VkMemoryBarrier memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    memory.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
    memory.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    vk_.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1,
                           &memory, 0, nullptr, 0, nullptr);
    record(commands);
    memory.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    vk_.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &memory, 0,
                           nullptr, 0, nullptr);
    check(vk_.EndCommandBuffer(commands), "vkEndCommandBuffer");

    std::vector<VkSemaphore> waits;
    std::vector<uint64_t> values;
    for (const Moment& moment : after) {
        if (moment.queue != nullptr && moment.queue != this) {
            waits.push_back(moment.queue->timeline_);
            values.push_back(moment.value);
        }
    }
    const std::vector<VkPipelineStageFlags> stages(waits.size(), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    const uint64_t value = submitted_ + 1;
    VkTimelineSemaphoreSubmitInfo timeline{};
    timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    timeline.waitSemaphoreValueCount = static_cast<uint32_t>(values.size());
    timeline.pWaitSemaphoreValues = values.data();
    timeline.signalSemaphoreValueCount = 1;
    timeline.pSignalSemaphoreValues = &value;
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.pNext = &timeline;
    info.waitSemaphoreCount = static_cast<uint32_t>(waits.size());
    info.pWaitSemaphores = waits.data();
    info.pWaitDstStageMask = stages.data();
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &timeline_;
    check(vk_.QueueSubmit(queue_, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
    submitted_ = value;
    used_.emplace_back(value, commands);
    return {this, value};
}

uint64_t Queue::passed() const {
    uint64_t value = 0;
    check(vk_.GetSemaphoreCounterValue(device_, timeline_, &value), "vkGetSemaphoreCounterValue");
    return value;
}

bool Queue::wait(uint64_t value, uint64_t nanoseconds) const {
    VkSemaphoreWaitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
    info.semaphoreCount = 1;
    info.pSemaphores = &timeline_;
    info.pValues = &value;
    const VkResult result = vk_.WaitSemaphores(device_, &info, nanoseconds);
    if (result == VK_TIMEOUT) {
        return false;
    }
    check(result, "vkWaitSemaphores");
    return true;
}

} // namespace vkf::mpi
