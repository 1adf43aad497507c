// SPDX-License-Identifier: MIT
#include "host/matrices/layout_kernel.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "host/error.hpp"
#include "host/matrices/element_layout_params.h"
#include "pipelines/shader_table.hpp"

namespace vkf::host {
namespace {

std::vector<uint32_t> shaderOf(VkfType type) {
    const char* const name = type == VKF_TYPE_BF16 ? "element_layout_bfloat16" : "element_layout";
    const ShaderBinary* const found = findShader({hostShaderBinaries, hostShaderBinariesCount}, name);
    if (found == nullptr || found->units == nullptr) {
        throw Error(VKF_ERROR_UNSUPPORTED, std::string("shader ") + name + " is not in this build: " +
                                               (found == nullptr ? "no such shader" : found->missingReason));
    }
    return found->words();
}

} // namespace

LayoutKernel::LayoutKernel(DeviceState& state, const MatrixShape& shape) : state_(state) {
    try {
        create(shape);
    } catch (...) {
        destroy();
        throw;
    }
}

LayoutKernel::~LayoutKernel() { destroy(); }

void LayoutKernel::create(const MatrixShape& shape) {
    const DeviceFunctions& vk = state_.device().functions();
    const VkDevice device = state_.device().handle();
    const std::vector<uint32_t> words = shaderOf(shape.type);
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(shared::ElementLayoutParams)};
    VkPipelineLayoutCreateInfo layoutInfo{};
    layoutInfo.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layoutInfo.pushConstantRangeCount = 1;
    layoutInfo.pPushConstantRanges = &range;
    VkPipelineLayout layout = VK_NULL_HANDLE; // undefined after a failure
    check(vk.CreatePipelineLayout(device, &layoutInfo, nullptr, &layout), "vkCreatePipelineLayout");
    layout_ = layout;

    VkShaderModuleCreateInfo moduleInfo{};
    moduleInfo.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    moduleInfo.codeSize = words.size() * sizeof(uint32_t);
    moduleInfo.pCode = words.data();
    VkShaderModule module = VK_NULL_HANDLE;
    check(vk.CreateShaderModule(device, &moduleInfo, nullptr, &module), "vkCreateShaderModule");
    try {
        createPipeline(module, shape);
    } catch (...) {
        vk.DestroyShaderModule(device, module, nullptr);
        throw;
    }
    vk.DestroyShaderModule(device, module, nullptr);
}

void LayoutKernel::createPipeline(VkShaderModule module, const MatrixShape& shape) {
    std::array<uint32_t, VKF_ELEMENT_ID_COUNT> constants{};
    constants[VKF_ELEMENT_ID_LANES] = shape.lanes;
    constants[VKF_ELEMENT_ID_ROWS] = shape.rows;
    constants[VKF_ELEMENT_ID_COLUMNS] = shape.columns;
    constants[VKF_ELEMENT_ID_DEPTH] = shape.depth;
    std::array<VkSpecializationMapEntry, VKF_ELEMENT_ID_COUNT> map{};
    for (uint32_t i = 0; i < map.size(); i++) {
        map[i] = {i, i * static_cast<uint32_t>(sizeof(uint32_t)), sizeof(uint32_t)};
    }
    const VkSpecializationInfo specialization{static_cast<uint32_t>(map.size()), map.data(), sizeof constants,
                                              constants.data()};
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroupSize{};
    subgroupSize.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
    subgroupSize.requiredSubgroupSize = shape.lanes;
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    info.stage.pNext = &subgroupSize;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &specialization;
    info.layout = layout_;
    VkPipeline pipeline = VK_NULL_HANDLE; // a failure need not leave it null
    check(state_.device().functions().CreateComputePipelines(state_.device().handle(), VK_NULL_HANDLE, 1, &info,
                                                             nullptr, &pipeline),
          "vkCreateComputePipelines");
    pipeline_ = pipeline;
}

void LayoutKernel::destroy() noexcept {
    if (state_.hangs()) {
        return; // the device may still use the pipeline
    }
    const DeviceFunctions& vk = state_.device().functions();
    vk.DestroyPipeline(state_.device().handle(), pipeline_, nullptr);
    vk.DestroyPipelineLayout(state_.device().handle(), layout_, nullptr);
}

uint32_t* LayoutKernel::memory() const { return static_cast<uint32_t*>(state_.stagingBuffer().mapped); }

void LayoutKernel::write(uint32_t section, uint32_t elements, const std::vector<uint32_t>& words) {
    uint32_t* const begin = memory() + size_t{section} * VKF_ELEMENT_SECTION_WORDS;
    *begin = elements;
    std::copy(words.begin(), words.end(), begin + 1);
}

uint32_t LayoutKernel::elementsOf(uint32_t section) const {
    return memory()[size_t{section} * VKF_ELEMENT_SECTION_WORDS];
}

const uint32_t* LayoutKernel::wordsOf(uint32_t section) const {
    return memory() + size_t{section} * VKF_ELEMENT_SECTION_WORDS + 1;
}

void LayoutKernel::run(uint32_t task) {
    // What the kernel does not write must not look like a result of an earlier run.
    const uint32_t first = task == VKF_ELEMENT_MEASURE ? VKF_ELEMENT_MEASURED
                           : task == VKF_ELEMENT_TEST  ? VKF_ELEMENT_TESTED
                                                       : VKF_ELEMENT_LOADED;
    const uint32_t groups = task == VKF_ELEMENT_TEST_LOADS ? VKF_ELEMENT_LOADS : VKF_ELEMENT_MATRICES;
    for (uint32_t group = 0; group < groups; group++) {
        write(first + group, 0, std::vector<uint32_t>(VKF_ELEMENT_MOST, UINT32_MAX));
    }
    const shared::ElementLayoutParams params{state_.addressOf(state_.stagingBuffer().buffer), task, 0};
    state_.submit([&](VkCommandBuffer commandBuffer) {
        const DeviceFunctions& vk = state_.device().functions();
        vk.CmdBindPipeline(commandBuffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
        vk.CmdPushConstants(commandBuffer, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof params, &params);
        vk.CmdDispatch(commandBuffer, groups, 1, 1);
    });
}

} // namespace vkf::host
