// SPDX-License-Identifier: MIT
//
// A command buffer of the program's own, for what host::Device::submit does not do: recording without submitting, and
// submitting again what was recorded once.
#ifndef VKFLASH_TOOLS_COMMAND_BUFFER_HPP
#define VKFLASH_TOOLS_COMMAND_BUFFER_HPP

#include "vkflash/host.hpp"

namespace vkf::tools {

class CommandBuffer {
public:
    // For the queue that the device submits to; the device must outlive it.
    explicit CommandBuffer(const host::Device& device);
    CommandBuffer(const CommandBuffer&) = delete;
    CommandBuffer& operator=(const CommandBuffer&) = delete;
    ~CommandBuffer();

    // What was recorded before is dropped.
    VkCommandBuffer begin();
    void end();
    // Submits what was recorded, and returns the seconds of wall time that the call itself took, when the device is
    // done. Nobody else may submit meanwhile. ProgramError if the device is lost or takes longer than a minute.
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
