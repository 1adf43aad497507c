// SPDX-License-Identifier: MIT
//
// Full barriers around a call, for contexts with VKF_DEBUG_FULL_BARRIERS.
#pragma once

#include "calls/context.hpp"

namespace vkf {

// Records a full barrier when it is made, and another one when it goes. Does nothing without VKF_DEBUG_FULL_BARRIERS.
class CallBarriers {
public:
    CallBarriers(const VkfContext_T& context, VkCommandBuffer commandBuffer)
        : context_(context), commandBuffer_(commandBuffer) {
        record();
    }
    ~CallBarriers() { record(); }
    CallBarriers(const CallBarriers&) = delete;
    CallBarriers& operator=(const CallBarriers&) = delete;

private:
    void record() const {
        if ((context_.debug & VKF_DEBUG_FULL_BARRIERS) == 0) {
            return;
        }
        VkMemoryBarrier all{};
        all.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
        all.srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
        all.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
        context_.functions.vkCmdPipelineBarrier(commandBuffer_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                                VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &all, 0, nullptr, 0, nullptr);
    }

    const VkfContext_T& context_;
    VkCommandBuffer commandBuffer_;
};

} // namespace vkf
