// SPDX-License-Identifier: MIT
#include "pipelines/pipelines.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "base/vulkan_result.hpp"
#include "pipelines/bfloat16_matrices.hpp"
#include "pipelines/rolled_loops.hpp"
#include "pipelines/shader_table.hpp"
#include "pipelines/specialized_module.hpp"
#include "pipelines/spirv.hpp"
#include "problem/functions.hpp"
#include "shared/attention_params.h"

namespace vkf {
namespace {

// Constant i lies at offset 4 i of the data.
std::array<VkSpecializationMapEntry, std::tuple_size_v<Constants>> constantMap() {
    std::array<VkSpecializationMapEntry, std::tuple_size_v<Constants>> map{};
    for (uint32_t i = 0; i < map.size(); i++) {
        map[i] = {i, i * static_cast<uint32_t>(sizeof(uint32_t)), sizeof(uint32_t)};
    }
    return map;
}

// A Vulkan handle is a pointer on some platforms, and an integer on others.
template <typename Handle> uint64_t handleNumber(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>) {
        return reinterpret_cast<uintptr_t>(handle);
    } else {
        return handle;
    }
}

// Returns the SPIR-V of a variant, with its functions if it has some.
VkfResult wordsOf(const Variant& variant, const std::string& name, std::vector<uint32_t>* words, VkfMessage* message) {
    if (const VkfFunctions functions = variant.functions.functions; functions != nullptr) {
        const uint32_t* first = nullptr;
        size_t count = 0;
        const VkfResult result = functions->getKernel(functions->user, name.c_str(), &first, &count, message);
        if (result != VKF_SUCCESS) {
            return result;
        }
        if (first == nullptr || !isSpirv({first, count})) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "kernel %s of the functions is not a SPIR-V module",
                        name.c_str());
        }
        words->assign(first, first + count);
        return VKF_SUCCESS;
    }
    const ShaderBinary* binary = findShader({shaderBinaries, shaderBinariesCount}, name);
    if (binary == nullptr || binary->units == nullptr) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "shader %s is not in this build: %s", name.c_str(),
                    binary == nullptr ? "no such variant" : binary->missingReason);
    }
    *words = binary->words();
    return VKF_SUCCESS;
}

} // namespace

Pipelines::Pipelines(const DeviceFunctions& functions, VkDevice device, VkPipelineCache cache,
                     const VkAllocationCallbacks* allocator, VkfQuirks quirks, const PtxTexts& texts)
    : functions_(functions), device_(device), cache_(cache), allocator_(allocator), quirks_(quirks),
      launches_(functions, device, allocator, texts) {}

Pipelines::~Pipelines() {
    pipelines_.forEach([this](VkPipeline pipeline) { functions_.vkDestroyPipeline(device_, pipeline, allocator_); });
    if (layout_ != VK_NULL_HANDLE) {
        functions_.vkDestroyPipelineLayout(device_, layout_, allocator_);
    }
}

VkfResult Pipelines::initialize(VkfMessage* message) {
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(shared::CallParams)};
    VkPipelineLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &range;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    const VkResult result = functions_.vkCreatePipelineLayout(device_, &info, allocator_, &layout);
    if (result != VK_SUCCESS) {
        return failVulkan(message, result, "vkCreatePipelineLayout"); // the driver may have left anything in `layout`
    }
    layout_ = layout;
    return VKF_SUCCESS;
}

template <typename Get> VkfResult Pipelines::unlessLost(const Get& get, VkfMessage* message) {
    if (lost_) {
        return fail(message, VKF_ERROR_DEVICE_LOST, "the device was lost in an earlier call of this context");
    }
    const VkfResult result = get();
    if (result == VKF_ERROR_DEVICE_LOST) {
        lost_ = true;
    }
    return result;
}

VkfResult Pipelines::get(const Variant& variant, VkPipeline* pipeline, VkfMessage* message) {
    return unlessLost(
        [&] {
            return pipelines_.get(variant, pipeline, [&](VkPipeline* made) { return compile(variant, made, message); });
        },
        message);
}

VkfResult Pipelines::get(const Variant& variant, Executable* executable, VkfMessage* message) {
    if (traitsOf(variant.kernel).launched) {
        return unlessLost([&] { return launches_.get(variant, &executable->emplace<Launch>(), message); }, message);
    }
    return get(variant, &executable->emplace<VkPipeline>(), message);
}

void Pipelines::setName(VkPipeline pipeline, const std::string& name) const noexcept {
    if (functions_.vkSetDebugUtilsObjectNameEXT == nullptr) {
        return;
    }
    VkDebugUtilsObjectNameInfoEXT info{};
    info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT;
    info.objectType = VK_OBJECT_TYPE_PIPELINE;
    info.objectHandle = handleNumber(pipeline);
    info.pObjectName = name.c_str();
    functions_.vkSetDebugUtilsObjectNameEXT(device_, &info); // an error loses the name only
}

VkfResult Pipelines::compile(const Variant& variant, VkPipeline* pipeline, VkfMessage* message) const {
    const std::string name = shaderName(variant);
    const std::string label = "vkflash " + name; // an exception after the compilation would lose the pipeline
    VkShaderModuleCreateInfo moduleInfo{};
    moduleInfo.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    std::vector<uint32_t> words;
    if (const VkfResult got = wordsOf(variant, name, &words, message); got != VKF_SUCCESS) {
        return got;
    }
    if ((quirks_ & VKF_QUIRK_LATE_SPECIALIZATION) != 0) {
        words = specialized(words, variant.constants);
    }
    words = withLoops(variant.loops, std::move(words));
    if (variant.bf16) {
        words = withBfloat16Matrices(words);
    }
    moduleInfo.codeSize = words.size() * sizeof(uint32_t);
    moduleInfo.pCode = words.data();
    VkShaderModule module = VK_NULL_HANDLE;
    VkResult result = functions_.vkCreateShaderModule(device_, &moduleInfo, allocator_, &module);
    if (result != VK_SUCCESS) {
        return failVulkan(message, result, "vkCreateShaderModule");
    }

    static const auto map = constantMap();
    const VkSpecializationInfo specialization{static_cast<uint32_t>(map.size()), map.data(), sizeof(variant.constants),
                                              variant.constants.data()};
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroupSize{};
    subgroupSize.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
    subgroupSize.requiredSubgroupSize = variant.subgroupSize;
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &specialization;
    info.layout = layout_;
    if (variant.subgroups) {
        info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
        info.stage.pNext = &subgroupSize;
    }
    result = functions_.vkCreateComputePipelines(device_, cache_, 1, &info, allocator_, pipeline);
    functions_.vkDestroyShaderModule(device_, module, allocator_);
    if (result != VK_SUCCESS) {
        return failVulkan(message, result, "vkCreateComputePipelines");
    }
    setName(*pipeline, label);
    return VKF_SUCCESS;
}

} // namespace vkf
