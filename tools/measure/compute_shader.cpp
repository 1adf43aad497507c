// SPDX-License-Identifier: MIT
#include "measure/compute_shader.hpp"

#include <string>

#include "cli/error.hpp"
#include "pipelines/shader_table.hpp"

namespace vkf::tools {

namespace {

template <typename Function> Function deviceFunction(const host::Device& device, const char* name) {
    const auto getDeviceProcAddr = reinterpret_cast<PFN_vkGetDeviceProcAddr>(
        device.getInstanceProcAddr()(device.instance(), "vkGetDeviceProcAddr"));
    return reinterpret_cast<Function>(getDeviceProcAddr(device.handle(), name));
}

void check(VkResult result, const char* call) {
    if (result != VK_SUCCESS)
        throw host::Error(VKF_ERROR_VULKAN, std::string(call) + " returned " + std::to_string(result));
}

} // namespace

std::vector<uint32_t> toolShader(std::string_view name) {
    const ShaderBinary* const found = findShader({toolShaderBinaries, toolShaderBinariesCount}, name);
    if (found == nullptr || found->units == nullptr)
        fail("shader {}: {}", name, found == nullptr ? "is not in tools/measure/shaders.json" : found->missingReason);
    return found->words();
}

struct ComputeShader::State {
    VkDevice device;
    uint32_t pushBytes;
    VkShaderModule module = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkPipeline pipeline = VK_NULL_HANDLE;
    PFN_vkCreateShaderModule createShaderModule;
    PFN_vkCreatePipelineLayout createPipelineLayout;
    PFN_vkCreateComputePipelines createComputePipelines;
    PFN_vkDestroyShaderModule destroyShaderModule;
    PFN_vkDestroyPipelineLayout destroyPipelineLayout;
    PFN_vkDestroyPipeline destroyPipeline;
    PFN_vkCmdBindPipeline cmdBindPipeline;
    PFN_vkCmdPushConstants cmdPushConstants;
    PFN_vkCmdDispatch cmdDispatch;

    State(const host::Device& from, uint32_t bytes)
        : device(from.handle()), pushBytes(bytes),
          createShaderModule(deviceFunction<PFN_vkCreateShaderModule>(from, "vkCreateShaderModule")),
          createPipelineLayout(deviceFunction<PFN_vkCreatePipelineLayout>(from, "vkCreatePipelineLayout")),
          createComputePipelines(deviceFunction<PFN_vkCreateComputePipelines>(from, "vkCreateComputePipelines")),
          destroyShaderModule(deviceFunction<PFN_vkDestroyShaderModule>(from, "vkDestroyShaderModule")),
          destroyPipelineLayout(deviceFunction<PFN_vkDestroyPipelineLayout>(from, "vkDestroyPipelineLayout")),
          destroyPipeline(deviceFunction<PFN_vkDestroyPipeline>(from, "vkDestroyPipeline")),
          cmdBindPipeline(deviceFunction<PFN_vkCmdBindPipeline>(from, "vkCmdBindPipeline")),
          cmdPushConstants(deviceFunction<PFN_vkCmdPushConstants>(from, "vkCmdPushConstants")),
          cmdDispatch(deviceFunction<PFN_vkCmdDispatch>(from, "vkCmdDispatch")) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        destroyPipeline(device, pipeline, nullptr);
        destroyPipelineLayout(device, layout, nullptr);
        destroyShaderModule(device, module, nullptr);
    }
};

ComputeShader::ComputeShader(const host::Device& device, std::span<const uint32_t> spirv, uint32_t pushBytes)
    : state_(std::make_unique<State>(device, pushBytes)) {
    State& s = *state_;
    VkShaderModuleCreateInfo moduleInfo{};
    moduleInfo.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    moduleInfo.codeSize = spirv.size_bytes();
    moduleInfo.pCode = spirv.data();
    check(s.createShaderModule(s.device, &moduleInfo, nullptr, &s.module), "vkCreateShaderModule");
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, pushBytes};
    VkPipelineLayoutCreateInfo layoutInfo{};
    layoutInfo.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layoutInfo.pushConstantRangeCount = 1;
    layoutInfo.pPushConstantRanges = &range;
    check(s.createPipelineLayout(s.device, &layoutInfo, nullptr, &s.layout), "vkCreatePipelineLayout");
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = s.module;
    info.stage.pName = "main";
    info.layout = s.layout;
    check(s.createComputePipelines(s.device, VK_NULL_HANDLE, 1, &info, nullptr, &s.pipeline),
          "vkCreateComputePipelines");
}

ComputeShader::~ComputeShader() = default;

void ComputeShader::record(VkCommandBuffer commands, const void* push, uint32_t workgroups) const {
    const State& s = *state_;
    s.cmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, s.pipeline);
    s.cmdPushConstants(commands, s.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, s.pushBytes, push);
    s.cmdDispatch(commands, workgroups, 1, 1);
}

void recordCopy(const host::Device& device, VkCommandBuffer commands, const host::Buffer& buffer, uint64_t to,
                uint64_t bytes) {
    const VkBufferCopy region{0, to, bytes};
    deviceFunction<PFN_vkCmdCopyBuffer>(device, "vkCmdCopyBuffer")(commands, buffer.handle(), buffer.handle(), 1,
                                                                   &region);
}

void recordComputeBarrier(const host::Device& device, VkCommandBuffer commands) {
    VkMemoryBarrier barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    deviceFunction<PFN_vkCmdPipelineBarrier>(device, "vkCmdPipelineBarrier")(
        commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0,
        nullptr, 0, nullptr);
}

} // namespace vkf::tools
