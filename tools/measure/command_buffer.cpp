// SPDX-License-Identifier: MIT
#include "measure/command_buffer.hpp"

#include <chrono>

#include "measure/own_context.hpp"

namespace vkf::tools {

CommandBuffer::CommandBuffer(const host::Device& device)
    : device_(device), reset_(load<PFN_vkResetCommandPool>(device, "vkResetCommandPool")),
      begin_(load<PFN_vkBeginCommandBuffer>(device, "vkBeginCommandBuffer")),
      end_(load<PFN_vkEndCommandBuffer>(device, "vkEndCommandBuffer")),
      submit_(load<PFN_vkQueueSubmit>(device, "vkQueueSubmit")),
      wait_(load<PFN_vkWaitForFences>(device, "vkWaitForFences")),
      resetFences_(load<PFN_vkResetFences>(device, "vkResetFences")) {
    load<PFN_vkGetDeviceQueue>(device, "vkGetDeviceQueue")(device.handle(), device.queueFamily(), 0, &queue_);
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.queueFamilyIndex = device.queueFamily();
    check(load<PFN_vkCreateCommandPool>(device, "vkCreateCommandPool")(device.handle(), &pool, nullptr, &pool_),
          "vkCreateCommandPool");
    VkCommandBufferAllocateInfo buffer{};
    buffer.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    buffer.commandPool = pool_;
    buffer.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    buffer.commandBufferCount = 1;
    const auto allocate = load<PFN_vkAllocateCommandBuffers>(device, "vkAllocateCommandBuffers");
    check(allocate(device.handle(), &buffer, &commands_), "vkAllocateCommandBuffers");
    VkFenceCreateInfo fence{};
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    check(load<PFN_vkCreateFence>(device, "vkCreateFence")(device.handle(), &fence, nullptr, &fence_), "vkCreateFence");
}

CommandBuffer::~CommandBuffer() {
    load<PFN_vkDestroyFence>(device_, "vkDestroyFence")(device_.handle(), fence_, nullptr);
    load<PFN_vkDestroyCommandPool>(device_, "vkDestroyCommandPool")(device_.handle(), pool_, nullptr);
}

VkCommandBuffer CommandBuffer::begin() {
    check(reset_(device_.handle(), pool_, 0), "vkResetCommandPool");
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    check(begin_(commands_, &info), "vkBeginCommandBuffer");
    return commands_;
}

void CommandBuffer::end() { check(end_(commands_), "vkEndCommandBuffer"); }

double CommandBuffer::submit() {
    using Clock = std::chrono::steady_clock;
    constexpr uint64_t timeoutNanoseconds = 60'000'000'000;
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands_;
    const Clock::time_point start = Clock::now();
    const VkResult result = submit_(queue_, 1, &info, fence_);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    check(result, "vkQueueSubmit");
    check(wait_(device_.handle(), 1, &fence_, VK_TRUE, timeoutNanoseconds), "vkWaitForFences");
    check(resetFences_(device_.handle(), 1, &fence_), "vkResetFences");
    return seconds;
}

} // namespace vkf::tools
