// SPDX-License-Identifier: MIT
//
// The Vulkan device behind the backend. All backends and buffers of a process share it. It lives until the process
// ends, because ggml says of no library when its last buffer is gone.
#pragma once

#include <ggml.h>

#include <mutex>
#include <set>
#include <string>

#include <vkflash/host.hpp>

#include "commands.hpp"

namespace vkf::ggml {

class Accelerator {
public:
    // Opens the device that the environment variable VKFLASH_GGML_DEVICE names, or else the best one.
    //
    // Throws host::Error if there is none.
    Accelerator();

    const host::DeviceSummary& summary() const { return device_.summary(); }
    VkfContext context() const { return device_.context(); }
    const CommandFunctions& functions() const { return functions_; }
    VkDevice handle() const { return device_.handle(); }
    uint32_t queueFamily() const { return device_.queueFamily(); }
    const std::string& description() const { return description_; }
    uint64_t largestBuffer() const { return largestBuffer_; }

    // Why the device cannot compute a node GGML_OP_FLASH_ATTN_EXT; empty if it can. Logs each new reason.
    std::string refusal(const ggml_tensor& node);

    // What uses the queue or the allocator. Any thread may call these functions.
    host::Buffer newBuffer(uint64_t bytes);
    void deleteBuffer(host::Buffer&& buffer);
    void upload(const host::Buffer& to, const void* from, uint64_t bytes, uint64_t offset);
    void download(void* to, const host::Buffer& from, uint64_t bytes, uint64_t offset);
    void fill(const host::Buffer& buffer, uint8_t value, uint64_t bytes, uint64_t offset);
    void submit(VkCommandBuffer commands, VkFence fence);
    uint64_t memory() const; // bytes of the device's own memory
    uint64_t memoryInUse();
    // Validation warnings and errors so far. They are counted if the environment variable VKFLASH_GGML_VALIDATION is 1.
    uint64_t validationMessages() const { return device_.validationMessageCount(); }

private:
    void findLargestBuffer();
    void logRefusal(const ggml_tensor& node, const std::string& reason);

    host::Device device_;
    CommandFunctions functions_;
    VkQueue queue_ = VK_NULL_HANDLE;
    std::string description_;
    uint64_t largestBuffer_ = 0;
    std::mutex mutex_; // of the device's queue and allocator
    std::mutex refusalMutex_;
    std::set<std::string> refusals_; // that were logged
    bool logsEachRefusal_ = false;
};

} // namespace vkf::ggml
