// SPDX-License-Identifier: MIT
//
// The shaders of this build with matrices. The library can turn them into bf16 (bfloat16_matrices.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pipelines/shader_table.hpp"
#include "pipelines/spirv.hpp"

namespace vkf::test {

struct MatrixShader {
    std::string name;
    std::vector<uint32_t> module;
};

inline std::vector<MatrixShader> matrixShaders() {
    // Opcodes from SPIR-V's unified specification and from SPV_KHR_cooperative_matrix.
    constexpr uint32_t capability = 17;
    constexpr uint32_t cooperativeMatrix = 6022;
    std::vector<MatrixShader> shaders;
    for (const ShaderBinary& binary : std::span(shaderBinaries, shaderBinariesCount)) {
        if (binary.units == nullptr) {
            continue;
        }
        const std::vector<uint32_t> module = binary.words();
        bool matrices = false;
        forEachInstruction(std::span(module), [&](uint32_t opcode, std::span<const uint32_t> words) {
            matrices = matrices || (opcode == capability && words[1] == cooperativeMatrix);
        });
        if (matrices) {
            shaders.push_back({binary.name, module});
        }
    }
    return shaders;
}

} // namespace vkf::test
