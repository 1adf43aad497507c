// SPDX-License-Identifier: MIT
#include "kernels.hpp"

#include <cstdint>
#include <span>
#include <stdexcept>

#include "embed.spv.h"
#include "matvec.spv.h"
#include "rms_norm.spv.h"
#include "sample.spv.h"
#include "swiglu.spv.h"

namespace {

const std::array<std::span<const uint32_t>, 5> spirv = {embed_spirv, rms_norm_spirv, matvec_spirv, swiglu_spirv,
                                                        sample_spirv}; // indexed by Kernel

void check(VkResult result, const char* call) {
    if (result != VK_SUCCESS) {
        throw std::runtime_error(std::string(call) + " returned " + std::to_string(result));
    }
}

VkPipeline createPipeline(VkDevice device, VkPipelineLayout layout, std::span<const uint32_t> code) {
    VkShaderModuleCreateInfo moduleInfo{};
    moduleInfo.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    moduleInfo.codeSize = code.size_bytes();
    moduleInfo.pCode = code.data();
    VkShaderModule module = VK_NULL_HANDLE;
    check(vkCreateShaderModule(device, &moduleInfo, nullptr, &module), "vkCreateShaderModule");
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.layout = layout;
    VkPipeline pipeline = VK_NULL_HANDLE;
    const VkResult result = vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline);
    vkDestroyShaderModule(device, module, nullptr);
    check(result, "vkCreateComputePipelines");
    return pipeline;
}

} // namespace

Kernels::Kernels(VkDevice device) : device_(device) {
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(Arguments)};
    VkPipelineLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &range;
    check(vkCreatePipelineLayout(device_, &info, nullptr, &layout_), "vkCreatePipelineLayout");
    for (size_t i = 0; i < pipelines_.size(); i++) {
        pipelines_[i] = createPipeline(device_, layout_, spirv[i]);
    }
}

Kernels::~Kernels() {
    for (const VkPipeline pipeline : pipelines_) {
        vkDestroyPipeline(device_, pipeline, nullptr);
    }
    vkDestroyPipelineLayout(device_, layout_, nullptr);
}

void Kernels::record(VkCommandBuffer commandBuffer, Kernel kernel, const Arguments& arguments, uint32_t x,
                     uint32_t y) const {
    recordBarrier(commandBuffer);
    vkCmdBindPipeline(commandBuffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines_[static_cast<size_t>(kernel)]);
    vkCmdPushConstants(commandBuffer, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof arguments, &arguments);
    vkCmdDispatch(commandBuffer, x, y, 1);
}

void recordBarrier(VkCommandBuffer commandBuffer) {
    VkMemoryBarrier barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    vkCmdPipelineBarrier(commandBuffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0,
                         1, &barrier, 0, nullptr, 0, nullptr);
}
