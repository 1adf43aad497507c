// SPDX-License-Identifier: MIT
//
// Objects of the program on an open device: contexts with their own pipeline cache or tuning, and command buffers.
#pragma once

#include <string_view>

#include "vkflash/host.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

// Throws ProgramError if the call failed.
void check(VkResult result, const char* call);

template <typename Function> Function load(const host::Device& device, const char* name) {
    return reinterpret_cast<Function>(device.getInstanceProcAddr()(device.instance(), name));
}

// A pipeline cache that is empty at first. Plans fill it.
class PipelineCache {
public:
    explicit PipelineCache(const host::Device& device);
    PipelineCache(const PipelineCache&) = delete;
    PipelineCache& operator=(const PipelineCache&) = delete;
    ~PipelineCache();

    VkPipelineCache handle() const { return cache_; }

private:
    const host::Device& device_;
    VkPipelineCache cache_ = VK_NULL_HANDLE;
};

// These functions throw host::Error if the library refuses.
Context createContext(const host::Device& device, const PipelineCache& cache, std::string_view tuning);
Plan createPlan(const Context& context, const VkfProblem& problem);
VkfPlanInfo planInfo(const Plan& plan);
Backward createBackward(VkfContext context, const VkfBackwardProblem& problem);
VkfBackwardInfo backwardInfo(const Backward& backward);

// A command buffer of the program. It does what host::Device::submit does not do: record without submitting, and reset
// the pool before each recording only.
class CommandBuffer {
public:
    // For the queue that the device submits to. The device must outlive this object.
    explicit CommandBuffer(const host::Device& device);
    CommandBuffer(const CommandBuffer&) = delete;
    CommandBuffer& operator=(const CommandBuffer&) = delete;
    ~CommandBuffer();

    // Begins a recording and drops the earlier one.
    VkCommandBuffer begin();
    void end();
    // Submits the recording and waits until the device has finished. Nobody else may submit meanwhile. Throws
    // ProgramError if the device is lost or takes longer than a minute.
    void submit();

private:
    const host::Device& device_;
    VkQueue queue_ = VK_NULL_HANDLE;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    VkFence fence_ = VK_NULL_HANDLE;
};

} // namespace vkf::tools
