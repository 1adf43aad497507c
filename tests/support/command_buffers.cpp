// SPDX-License-Identifier: MIT
#include "support/command_buffers.hpp"

#include <stdexcept>

namespace vkf::test {

template <typename Function> Function CommandBuffers::load(const char* name) const {
    return reinterpret_cast<Function>(device_.getInstanceProcAddr()(device_.instance(), name));
}

CommandBuffers::CommandBuffers(host::Device& device, size_t count) : device_(device), pools_(count), buffers_(count) {
    for (size_t i = 0; i < count; i++) {
        VkCommandPoolCreateInfo poolInfo{};
        poolInfo.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
        poolInfo.queueFamilyIndex = device.queueFamily();
        VkResult result =
            load<PFN_vkCreateCommandPool>("vkCreateCommandPool")(device.handle(), &poolInfo, nullptr, &pools_[i]);
        if (result == VK_SUCCESS) {
            VkCommandBufferAllocateInfo info{};
            info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
            info.commandPool = pools_[i];
            info.level = VK_COMMAND_BUFFER_LEVEL_SECONDARY;
            info.commandBufferCount = 1;
            result =
                load<PFN_vkAllocateCommandBuffers>("vkAllocateCommandBuffers")(device.handle(), &info, &buffers_[i]);
        }
        if (result != VK_SUCCESS) {
            throw std::runtime_error("no command buffer for the test");
        }
    }
}

CommandBuffers::~CommandBuffers() {
    for (const VkCommandPool pool : pools_) {
        load<PFN_vkDestroyCommandPool>("vkDestroyCommandPool")(device_.handle(), pool, nullptr);
    }
}

void CommandBuffers::record(size_t index, const std::function<void(VkCommandBuffer)>& commands) {
    VkCommandBufferInheritanceInfo inheritance{};
    inheritance.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO;
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    begin.pInheritanceInfo = &inheritance;
    load<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer")(buffers_[index], &begin);
    commands(buffers_[index]);
    load<PFN_vkEndCommandBuffer>("vkEndCommandBuffer")(buffers_[index]);
}

void CommandBuffers::barrier(VkCommandBuffer commandBuffer) const {
    VkMemoryBarrier memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    memory.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    load<PFN_vkCmdPipelineBarrier>("vkCmdPipelineBarrier")(commandBuffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                                           VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &memory, 0,
                                                           nullptr, 0, nullptr);
}

void CommandBuffers::submitAll() {
    device_.submit([&](VkCommandBuffer primary) {
        load<PFN_vkCmdExecuteCommands>("vkCmdExecuteCommands")(primary, static_cast<uint32_t>(buffers_.size()),
                                                               buffers_.data());
    });
}

} // namespace vkf::test
