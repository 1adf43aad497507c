// SPDX-License-Identifier: MIT
#include "measure/compute_shader.hpp"

#include "cli/error.hpp"
#include "measure/own_objects.hpp"
#include "pipelines/shader_table.hpp"

namespace vkf::tools {

std::vector<uint32_t> toolShader(std::string_view name) {
    const ShaderBinary* const found = findShader({toolShaderBinaries, toolShaderBinariesCount}, name);
    if (found == nullptr || found->units == nullptr)
        fail("shader {}: {}", name, found == nullptr ? "is not in tools/measure/shaders.json" : found->missingReason);
    return found->words();
}

ComputeShader::ComputeShader(const host::Device& device, uint32_t pushBytes) : device_(device), pushBytes_(pushBytes) {}

ComputeShader::ComputeShader(const host::Device& device, std::span<const uint32_t> spirv, uint32_t pushBytes)
    : ComputeShader(device, pushBytes) {
    VkShaderModuleCreateInfo moduleInfo{};
    moduleInfo.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    moduleInfo.codeSize = spirv.size_bytes();
    moduleInfo.pCode = spirv.data();
    const auto createModule = load<PFN_vkCreateShaderModule>(device, "vkCreateShaderModule");
    check(createModule(device.handle(), &moduleInfo, nullptr, &module_), "vkCreateShaderModule");
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, pushBytes};
    VkPipelineLayoutCreateInfo layoutInfo{};
    layoutInfo.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layoutInfo.pushConstantRangeCount = 1;
    layoutInfo.pPushConstantRanges = &range;
    const auto createLayout = load<PFN_vkCreatePipelineLayout>(device, "vkCreatePipelineLayout");
    check(createLayout(device.handle(), &layoutInfo, nullptr, &layout_), "vkCreatePipelineLayout");
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module_;
    info.stage.pName = "main";
    info.layout = layout_;
    const auto createPipelines = load<PFN_vkCreateComputePipelines>(device, "vkCreateComputePipelines");
    check(createPipelines(device.handle(), VK_NULL_HANDLE, 1, &info, nullptr, &pipeline_), "vkCreateComputePipelines");
}

ComputeShader::~ComputeShader() {
    load<PFN_vkDestroyPipeline>(device_, "vkDestroyPipeline")(device_.handle(), pipeline_, nullptr);
    load<PFN_vkDestroyPipelineLayout>(device_, "vkDestroyPipelineLayout")(device_.handle(), layout_, nullptr);
    load<PFN_vkDestroyShaderModule>(device_, "vkDestroyShaderModule")(device_.handle(), module_, nullptr);
}

void ComputeShader::record(VkCommandBuffer commands, const void* push, uint32_t workgroups) const {
    load<PFN_vkCmdBindPipeline>(device_, "vkCmdBindPipeline")(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
    const auto pushConstants = load<PFN_vkCmdPushConstants>(device_, "vkCmdPushConstants");
    pushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, pushBytes_, push);
    load<PFN_vkCmdDispatch>(device_, "vkCmdDispatch")(commands, workgroups, 1, 1);
}

void recordComputeBarrier(const host::Device& device, VkCommandBuffer commands) {
    VkMemoryBarrier barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    load<PFN_vkCmdPipelineBarrier>(device, "vkCmdPipelineBarrier")(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                                                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier,
                                                                   0, nullptr, 0, nullptr);
}

} // namespace vkf::tools
