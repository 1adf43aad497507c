// SPDX-License-Identifier: MIT
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <set>
#include <span>

#include "pipelines/bfloat16_matrices.hpp"
#include "pipelines/matrix_shaders.hpp"
#include "pipelines/spirv.hpp"

TEST_CASE("a shader's fp16 types become bf16, with the capabilities that this takes", "[planning]") {
    const std::vector<uint32_t> module = {
        0x07230203,    0x00010500, 0,  9, 0, // header
        2 << 16 | 17U, 1,                    // shaders
        2 << 16 | 17U, 9,                    // fp16
        3 << 16 | 10U, 0x41414141, 0,        // an extension
        3 << 16 | 10U, 0x42424242, 0,        // another
        3 << 16 | 22U, 5,          32,       // fp32
        3 << 16 | 22U, 6,          16,       // fp16
        3 << 16 | 23U, 7,          16,       // a vector of 16
    };
    const std::vector<uint32_t> expected = {
        0x07230203,    0x00010500, 0,          9,          0,             // header
        2 << 16 | 17U, 1,                                                 // shaders
        2 << 16 | 17U, 5116,                                              // bf16
        2 << 16 | 17U, 5118,                                              // matrices of it
        6 << 16 | 10U, 0x5f565053, 0x5f52484b, 0x6f6c6662, 0x36317461, 0, // SPV_KHR_bfloat16
        3 << 16 | 10U, 0x41414141, 0,                                     //
        3 << 16 | 10U, 0x42424242, 0,                                     //
        3 << 16 | 22U, 5,          32,                                    //
        4 << 16 | 22U, 6,          16,         0,                         // in bf16's encoding
        3 << 16 | 23U, 7,          16,                                    //
    };
    CHECK(vkf::withBfloat16Matrices(module) == expected);
}

TEST_CASE("arithmetic on former fp16 values becomes its first operand, and all other arithmetic stays", "[planning]") {
    const std::vector<uint32_t> module = {
        0x07230203,     0x00010500, 0,  99, 0,              // header
        3 << 16 | 22U,  1,          32,                     // fp32
        3 << 16 | 22U,  2,          16,                     // fp16
        4 << 16 | 23U,  3,          2,  2,                  // a vector of two fp16
        4 << 16 | 23U,  4,          1,  2,                  // of two fp32
        5 << 16 | 131U, 3,          20, 10, 11,             // fp16: a difference
        5 << 16 | 131U, 4,          21, 12, 13,             // fp32: the same
        5 << 16 | 142U, 3,          22, 20, 14,             // fp16: a vector times a number
        8 << 16 | 12U,  3,          23, 9,  50, 22, 10, 11, // fp16: fma
        8 << 16 | 12U,  4,          24, 9,  50, 21, 12, 13, // fp32: the same
        4 << 16 | 127U, 2,          25, 14,                 // fp16: a number negated
        4 << 16 | 115U, 2,          26, 15,                 // fp16: a conversion
        4 << 16 | 124U, 3,          27, 16,                 // fp16: bits
    };
    const std::vector<uint32_t> expected = {
        0x07230203,     0x00010500, 0,  99, 0,              // header
        3 << 16 | 22U,  1,          32,                     //
        4 << 16 | 22U,  2,          16, 0,                  // in bf16's encoding
        4 << 16 | 23U,  3,          2,  2,                  //
        4 << 16 | 23U,  4,          1,  2,                  //
        4 << 16 | 83U,  3,          20, 10,                 // a copy
        5 << 16 | 131U, 4,          21, 12, 13,             //
        4 << 16 | 83U,  3,          22, 20,                 // a copy
        4 << 16 | 83U,  3,          23, 22,                 // a copy
        8 << 16 | 12U,  4,          24, 9,  50, 21, 12, 13, //
        4 << 16 | 83U,  2,          25, 14,                 // a copy
        4 << 16 | 115U, 2,          26, 15,                 //
        4 << 16 | 124U, 3,          27, 16,                 //
    };
    CHECK(vkf::withBfloat16Matrices(module) == expected);
}

TEST_CASE("shaders that are made bf16 have one type of 16 bits, without constants and comparisons", "[planning]") {
    // Opcodes from SPIR-V's unified specification, sections 3.42.6, 3.42.7 and 3.42.15.
    constexpr uint32_t typeFloat = 22;
    constexpr uint32_t typeVector = 23;
    const auto declaresMemory = [](uint32_t opcode) { return opcode >= 28 && opcode <= 30; }; // arrays, structures
    const auto makesConstant = [](uint32_t opcode) { return opcode >= 41 && opcode <= 52; };
    const auto compares = [](uint32_t opcode) { return opcode >= 156 && opcode <= 191; };
    for (const vkf::test::MatrixShader& shader : vkf::test::matrixShaders()) {
        CAPTURE(shader.name);
        std::set<uint32_t> halves; // types: fp16 and vectors of it
        std::set<uint32_t> values; // ids of values with these types
        vkf::forEachInstruction(std::span(shader.module), [&](uint32_t opcode, std::span<const uint32_t> words) {
            if (opcode == typeFloat && words[2] == 16) {
                CHECK(halves.empty());
                halves.insert(words[1]);
            } else if (opcode == typeVector && halves.count(words[2]) != 0) {
                halves.insert(words[1]);
            } else if (declaresMemory(opcode)) {
                CHECK(std::none_of(words.begin() + 2, words.end(), [&](uint32_t id) { return halves.count(id) != 0; }));
            } else if (compares(opcode)) {
                CHECK(values.count(words[3]) == 0);
            } else if (words.size() > 2 && halves.count(words[1]) != 0) {
                CHECK_FALSE(makesConstant(opcode));
                values.insert(words[2]);
            }
        });
        CHECK_FALSE(halves.empty());
    }
}
