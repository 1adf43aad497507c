// SPDX-License-Identifier: MIT
#include "device/add_kernel.hpp"

#include <algorithm>

#include "add.spv.h"

namespace vkf::mpi {
namespace {

struct Arguments {
    VkDeviceAddress sum;
    VkDeviceAddress addend;
    uint32_t count;
    uint32_t stride;
};

constexpr uint32_t workgroupSize = 256; // as in the shader
constexpr uint64_t mostWorkgroups = 16384;
// Numbers of one dispatch, whose indices and strides fit 32 bits.
constexpr uint64_t mostNumbers = uint64_t{1} << 30;

} // namespace

AddKernel::AddKernel(const Gpu& gpu) : gpu_(gpu) {
    try {
        create();
    } catch (...) {
        destroy();
        throw;
    }
}

AddKernel::~AddKernel() { destroy(); }

void AddKernel::create() {
    const DeviceFunctions& vk = gpu_.functions();
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(Arguments)};
    VkPipelineLayoutCreateInfo layout{};
    layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout.pushConstantRangeCount = 1;
    layout.pPushConstantRanges = &range;
    check(vk.CreatePipelineLayout(gpu_.handle(), &layout, nullptr, &layout_), "vkCreatePipelineLayout");
    VkShaderModuleCreateInfo code{};
    code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    code.codeSize = sizeof add_spirv;
    code.pCode = add_spirv;
    VkShaderModule module = VK_NULL_HANDLE;
    check(vk.CreateShaderModule(gpu_.handle(), &code, nullptr, &module), "vkCreateShaderModule");
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.layout = layout_;
    const VkResult result = vk.CreateComputePipelines(gpu_.handle(), VK_NULL_HANDLE, 1, &info, nullptr, &pipeline_);
    vk.DestroyShaderModule(gpu_.handle(), module, nullptr);
    check(result, "vkCreateComputePipelines");
}

void AddKernel::destroy() noexcept {
    if (gpu_.isGivenUp()) {
        return;
    }
    gpu_.functions().DestroyPipeline(gpu_.handle(), pipeline_, nullptr);
    gpu_.functions().DestroyPipelineLayout(gpu_.handle(), layout_, nullptr);
}

void AddKernel::record(VkCommandBuffer commands, VkDeviceAddress sum, VkDeviceAddress addend, uint64_t count) const {
    const DeviceFunctions& vk = gpu_.functions();
    gpu_.barrier(commands);
    vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
    for (uint64_t done = 0; done < count; done += mostNumbers) {
        const uint64_t numbers = std::min(mostNumbers, count - done);
        const auto workgroups =
            static_cast<uint32_t>(std::min(mostWorkgroups, (numbers + workgroupSize - 1) / workgroupSize));
        const Arguments arguments{sum + done * sizeof(float), addend + done * sizeof(float),
                                  static_cast<uint32_t>(numbers), workgroups * workgroupSize};
        vk.CmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof arguments, &arguments);
        vk.CmdDispatch(commands, workgroups, 1, 1);
    }
}

} // namespace vkf::mpi
