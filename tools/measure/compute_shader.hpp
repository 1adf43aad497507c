// SPDX-License-Identifier: MIT
//
// A compute shader of the program, separate from the library's shaders. Makes its pipeline and records it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "vkflash/host.hpp"

namespace vkf::tools {

// SPIR-V of the named variant in tools/measure/shaders.json. Throws ProgramError if this build lacks it.
std::vector<uint32_t> toolShader(std::string_view name);

class ComputeShader {
public:
    // Compiles the SPIR-V for the device, which must outlive the shader. Push constants are the shader's only
    // parameters. Throws ProgramError.
    ComputeShader(const host::Device& device, std::span<const uint32_t> spirv, uint32_t pushBytes);
    ~ComputeShader();
    ComputeShader(const ComputeShader&) = delete;
    ComputeShader& operator=(const ComputeShader&) = delete;

    // Records binding, push constants and dispatch.
    void record(VkCommandBuffer commands, const void* push, uint32_t workgroups) const;

private:
    // Without a pipeline. If the other constructor throws after this one, the destructor runs.
    ComputeShader(const host::Device& device, uint32_t pushBytes);

    const host::Device& device_;
    uint32_t pushBytes_;
    VkShaderModule module_ = VK_NULL_HANDLE;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkPipeline pipeline_ = VK_NULL_HANDLE;
};

// Makes earlier writes of compute shaders visible to later compute shaders.
void recordComputeBarrier(const host::Device& device, VkCommandBuffer commands);

} // namespace vkf::tools
