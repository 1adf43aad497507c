// SPDX-License-Identifier: MIT
//
// Writes the shaders that the library turns into bf16 into a folder, for the test "spirv_val". No software driver has
// bf16 matrices, so without a GPU nothing else would check these shaders.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "pipelines/bfloat16_matrices.hpp"
#include "pipelines/matrix_shaders.hpp"

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: vkflash_bfloat16_shaders FOLDER\n", stderr);
        return 2;
    }
    const std::filesystem::path folder = argv[1];
    std::filesystem::create_directories(folder);
    for (const vkf::test::MatrixShader& shader : vkf::test::matrixShaders()) {
        const std::vector<uint32_t> made = vkf::withBfloat16Matrices(shader.module);
        std::ofstream file(folder / (shader.name + "_bf16.spv"), std::ios::binary);
        file.write(reinterpret_cast<const char*>(made.data()),
                   static_cast<std::streamsize>(made.size() * sizeof(uint32_t)));
        if (!file.flush()) {
            std::fprintf(stderr, "cannot write %s\n", shader.name.c_str());
            return 1;
        }
    }
    return 0;
}
