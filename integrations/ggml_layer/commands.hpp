// SPDX-License-Identifier: MIT
//
// A command buffer while the application records it: what is bound, and the attention calls that take the place of
// ggml's own.
//
// ggml computes a call with many keys in two dispatches: its attention kernel writes partial results of key splits, and
// a reduction joins them. Only the reduction knows where the result goes. So the layer holds the first dispatch back,
// and records its own call where the reduction would be. If another command comes first, it records the dispatch that
// it held back, with a full barrier behind it.
#pragma once

#include <vulkan/vulkan_core.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "call.hpp"
#include "device.hpp"

namespace vkf::layer {

// What command buffers of one VkCommandPool share. Vulkan lets one thread at a time use a pool and its command buffers.
// Their submissions use the same scratch memory, so that all of them must go to one queue: ggml's do.
struct CommandPool {
    std::shared_ptr<Memory> scratch;
    VkDeviceSize lacking = 0; // bytes that the device did not have; 0 = none
    uint32_t requests = 0;    // for so much, since then
    std::vector<VkCommandBuffer> commandBuffers;
};

class CommandBuffer {
public:
    CommandBuffer(Device& device, VkCommandPool pool, std::shared_ptr<CommandPool> shared, VkCommandBuffer handle)
        : device_(device), poolHandle_(pool), pool_(std::move(shared)), handle_(handle) {}

    Device& device() const { return device_; }
    const DeviceFunctions& next() const { return device_.next(); }
    VkCommandPool pool() const { return poolHandle_; }

    // Recording begins, or the command buffer was reset: nothing is bound, and no memory is needed any more.
    void reset();

    // These follow what the application binds. The caller passes the command on.
    void pipelineBound(VkPipelineBindPoint point, VkPipeline pipeline);
    void setsBound(VkPipelineBindPoint point, VkPipelineLayout layout, uint32_t first, uint32_t count,
                   const VkDescriptorSet* sets, uint32_t dynamicOffsets);
    // Set 0 gets contents that the layer does not follow, and could not bind again.
    void setUntracked() {
        beforeOtherCommand();
        set_ = VK_NULL_HANDLE;
    }
    // Something that is no pipeline is bound for compute work.
    void pipelineUntracked() {
        beforeOtherCommand();
        pipelineBound(VK_PIPELINE_BIND_POINT_COMPUTE, VK_NULL_HANDLE);
    }
    void constantsPushed(VkPipelineLayout layout, VkShaderStageFlags stages, uint32_t offset, uint32_t bytes,
                         const void* values);
    // Push constants get values that the layer does not follow, and could not bring back.
    void constantsUntracked() {
        beforeOtherCommand();
        constants_.untracked = true;
    }
    // Secondary command buffers may use the pool's scratch memory.
    void secondariesExecuted() {
        beforeOtherCommand();
        scratchBusy_ = true;
    }
    void barrierRecorded(VkPipelineStageFlags before, VkPipelineStageFlags after, uint32_t count,
                         const VkMemoryBarrier* barriers);

    // Records a dispatch, or what takes its place.
    void dispatch(uint32_t x, uint32_t y, uint32_t z);
    // Another command that reads or writes memory follows, or the end.
    void beforeOtherCommand() {
        if (heldBack_) {
            recordHeldBack();
        }
    }

private:
    // Push constants as the application sees them.
    struct Constants {
        VkPipelineLayout layout = VK_NULL_HANDLE;
        VkShaderStageFlags stages = 0;
        uint64_t words = 0; // bit i: the word of 4 bytes at byte 4 i has a value
        bool untracked = false;
        std::array<char, 256> bytes;
    };
    // The state that a dispatch of ggml was recorded with.
    struct HeldBack {
        std::shared_ptr<const PlannedCall> call;
        Dispatch dispatch;
        BoundBuffers buffers;
        VkPipeline pipeline;
        VkPipelineLayout setLayout;
        VkDescriptorSet set;
        Constants constants;
        std::string refusal; // why the call could not be recorded
    };

    void dispatchAttention(std::array<uint32_t, 3> groups);
    // Returns whether the reduction belonged to the dispatch that was held back, and the call was recorded.
    bool recordInsteadOf(const ReductionConstants& reduction);
    void recordHeldBack();
    // Returns why the call cannot be recorded, or an empty text.
    std::string record(const PlannedCall& call, const BoundBuffers& buffers, const VkDescriptorBufferInfo& result);
    std::string bind(const PlannedCall& call, const BoundBuffers& buffers, const VkDescriptorBufferInfo& result,
                     VkfBindings& bindings) const;
    std::string takeScratch(VkDeviceSize bytes, VkfBindings& bindings);
    // Returns false if the device has no memory left.
    bool growScratch(VkDeviceSize bytes);
    void keep(const std::shared_ptr<Memory>& memory);
    void restoreBindings() const;
    // Whether the application pushed just the first bytes.
    bool pushed(uint32_t bytes) const { return !constants_.untracked && constants_.words == wordMask(0, bytes); }
    static uint64_t wordMask(uint32_t offset, uint32_t bytes);

    Device& device_;
    VkCommandPool poolHandle_;
    std::shared_ptr<CommandPool> pool_;
    VkCommandBuffer handle_;

    VkPipeline pipeline_ = VK_NULL_HANDLE;
    const Kernel* kernel_ = nullptr;
    VkPipelineLayout setLayout_ = VK_NULL_HANDLE;
    VkDescriptorSet set_ = VK_NULL_HANDLE;
    Constants constants_;
    std::unique_ptr<HeldBack> heldBack_;
    // Whether commands since the last barrier, or of an earlier submission, may use the scratch memory.
    bool scratchBusy_ = true;
    // Memory that the recorded commands use.
    std::vector<std::shared_ptr<Memory>> kept_;
};

} // namespace vkf::layer
