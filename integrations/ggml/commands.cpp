// SPDX-License-Identifier: MIT
#include "commands.hpp"

#include <string>

#include "accelerator.hpp"

namespace vkf::ggml {
namespace {

// A submission that takes longer counts as a lost device. Steps of a plan take far less.
constexpr uint64_t maxNanoseconds = 600'000'000'000;

} // namespace

void check(VkResult result, const char* function) {
    if (result == VK_SUCCESS) {
        return;
    }
    const std::string text = std::string(function) + " failed with VkResult " + std::to_string(result);
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        throw host::Error(VKF_ERROR_OUT_OF_HOST_MEMORY, text);
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        throw host::Error(VKF_ERROR_OUT_OF_DEVICE_MEMORY, text);
    case VK_ERROR_DEVICE_LOST:
    case VK_TIMEOUT:
        throw host::Error(VKF_ERROR_DEVICE_LOST, text);
    default:
        throw host::Error(VKF_ERROR_VULKAN, text);
    }
}

CommandFunctions::CommandFunctions(const host::Device& device) {
    const PFN_vkGetInstanceProcAddr ofInstance = device.getInstanceProcAddr();
    const auto ofDevice =
        reinterpret_cast<PFN_vkGetDeviceProcAddr>(ofInstance(device.instance(), "vkGetDeviceProcAddr"));
#define VKF_GGML_LOAD(name) name = reinterpret_cast<PFN_vk##name>(ofDevice(device.handle(), "vk" #name));
    VKF_GGML_FUNCTIONS(VKF_GGML_LOAD)
#undef VKF_GGML_LOAD
    GetPhysicalDeviceProperties2 = reinterpret_cast<PFN_vkGetPhysicalDeviceProperties2>(
        ofInstance(device.instance(), "vkGetPhysicalDeviceProperties2"));
}

CommandRing::CommandRing(Accelerator& accelerator) : accelerator_(accelerator) {
    try {
        for (Slot& slot : slots_) {
            create(slot);
        }
    } catch (...) {
        destroy();
        throw;
    }
}

CommandRing::~CommandRing() {
    try {
        wait();
    } catch (const host::Error&) {
        lost_ = true;
    }
    if (!lost_) {
        destroy();
    }
}

void CommandRing::create(Slot& slot) {
    const CommandFunctions& vk = accelerator_.functions();
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
    pool.queueFamilyIndex = accelerator_.queueFamily();
    check(vk.CreateCommandPool(accelerator_.handle(), &pool, nullptr, &slot.pool), "vkCreateCommandPool");
    VkCommandBufferAllocateInfo buffer{};
    buffer.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    buffer.commandPool = slot.pool;
    buffer.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    buffer.commandBufferCount = 1;
    check(vk.AllocateCommandBuffers(accelerator_.handle(), &buffer, &slot.commands), "vkAllocateCommandBuffers");
    VkFenceCreateInfo fence{};
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    check(vk.CreateFence(accelerator_.handle(), &fence, nullptr, &slot.fence), "vkCreateFence");
}

void CommandRing::destroy() noexcept {
    const CommandFunctions& vk = accelerator_.functions();
    for (const Slot& slot : slots_) {
        vk.DestroyFence(accelerator_.handle(), slot.fence, nullptr);
        vk.DestroyCommandPool(accelerator_.handle(), slot.pool, nullptr);
    }
}

void CommandRing::wait(Slot& slot) {
    if (!slot.pending) {
        return;
    }
    if (lost_) {
        throw host::Error(VKF_ERROR_DEVICE_LOST, "an earlier submission has not finished");
    }
    const CommandFunctions& vk = accelerator_.functions();
    const VkResult result = vk.WaitForFences(accelerator_.handle(), 1, &slot.fence, VK_TRUE, maxNanoseconds);
    lost_ = result != VK_SUCCESS;
    check(result, "vkWaitForFences");
    check(vk.ResetFences(accelerator_.handle(), 1, &slot.fence), "vkResetFences");
    slot.pending = false;
}

void CommandRing::wait() {
    for (Slot& slot : slots_) {
        wait(slot);
    }
}

VkCommandBuffer CommandRing::begin() {
    Slot& slot = slots_[next_];
    wait(slot);
    const CommandFunctions& vk = accelerator_.functions();
    check(vk.ResetCommandPool(accelerator_.handle(), slot.pool, 0), "vkResetCommandPool");
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    check(vk.BeginCommandBuffer(slot.commands, &info), "vkBeginCommandBuffer");
    VkMemoryBarrier memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    memory.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
    memory.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    vk.CmdPipelineBarrier(slot.commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1,
                          &memory, 0, nullptr, 0, nullptr);
    return slot.commands;
}

void CommandRing::submit() {
    Slot& slot = slots_[next_];
    check(accelerator_.functions().EndCommandBuffer(slot.commands), "vkEndCommandBuffer");
    accelerator_.submit(slot.commands, slot.fence);
    slot.pending = true;
    next_ = (next_ + 1) % slots_.size();
}

void CommandRing::barrier(VkCommandBuffer commands) const {
    VkMemoryBarrier memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    memory.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    accelerator_.functions().CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                                VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &memory, 0, nullptr, 0,
                                                nullptr);
}

} // namespace vkf::ggml
