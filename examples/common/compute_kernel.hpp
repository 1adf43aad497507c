// SPDX-License-Identifier: MIT
//
// A compute kernel of the program. Push constants are its only arguments.
#pragma once

#include <volk.h>

#include <cstdint>
#include <span>

class ComputeKernel {
public:
    ComputeKernel(VkDevice device, std::span<const uint32_t> spirv, uint32_t argumentBytes);
    ~ComputeKernel();
    ComputeKernel(const ComputeKernel&) = delete;
    ComputeKernel& operator=(const ComputeKernel&) = delete;

    // Dispatches x times y workgroups. A barrier before it waits for all earlier commands.
    void record(VkCommandBuffer commandBuffer, const void* arguments, uint32_t x, uint32_t y = 1) const;

private:
    VkDevice device_;
    uint32_t argumentBytes_;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkPipeline pipeline_ = VK_NULL_HANDLE;
};

// Makes what earlier kernels wrote visible to later ones.
void recordBarrier(VkCommandBuffer commandBuffer);
