// SPDX-License-Identifier: MIT
//
// A command buffer of the program. It does what host::Device::submit does not do: record without submitting, and submit
// one recording several times.
#ifndef VKFLASH_TOOLS_COMMAND_BUFFER_HPP
#define VKFLASH_TOOLS_COMMAND_BUFFER_HPP

#include "vkflash/host.hpp"

namespace vkf::tools {

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
    // Submits the recording, waits until the device has finished, and returns the wall time of the submitting call
    // alone in seconds.
    // Nobody else may submit meanwhile. Throws ProgramError if the device is lost or takes longer than a minute.
    double submit();

private:
    const host::Device& device_;
    VkQueue queue_ = VK_NULL_HANDLE;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    VkFence fence_ = VK_NULL_HANDLE;
    PFN_vkResetCommandPool reset_;
    PFN_vkBeginCommandBuffer begin_;
    PFN_vkEndCommandBuffer end_;
    PFN_vkQueueSubmit submit_;
    PFN_vkWaitForFences wait_;
    PFN_vkResetFences resetFences_;
};

} // namespace vkf::tools

#endif
