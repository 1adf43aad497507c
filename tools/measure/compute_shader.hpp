// SPDX-License-Identifier: MIT
//
// A compute shader of the program's own, beside those of the library: its pipeline, and the way to record it.
#ifndef VKFLASH_TOOLS_COMPUTE_SHADER_HPP
#define VKFLASH_TOOLS_COMPUTE_SHADER_HPP

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "vkflash/host.hpp"

namespace vkf::tools {

// SPIR-V of a variant of tools/measure/shaders.json, by its name. ProgramError if this build lacks it.
std::vector<uint32_t> toolShader(std::string_view name);

class ComputeShader {
public:
    // Compiles the SPIR-V for the device, which must outlive the shader. Its only parameters are push constants.
    // Throws host::Error.
    ComputeShader(const host::Device& device, std::span<const uint32_t> spirv, uint32_t pushBytes);
    ~ComputeShader();
    ComputeShader(const ComputeShader&) = delete;
    ComputeShader& operator=(const ComputeShader&) = delete;

    // Binds, pushes and dispatches.
    void record(VkCommandBuffer commands, const void* push, uint32_t workgroups) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Copies the first `bytes` of a buffer to another place in it, past their end.
void recordCopy(const host::Device& device, VkCommandBuffer commands, const host::Buffer& buffer, uint64_t to,
                uint64_t bytes);

// Everything written by compute shaders before is visible to those after.
void recordComputeBarrier(const host::Device& device, VkCommandBuffer commands);

} // namespace vkf::tools

#endif
