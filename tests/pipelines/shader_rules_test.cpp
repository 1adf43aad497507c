// SPDX-License-Identifier: MIT
//
// Rules that let NVIDIA's compiler keep the matrices of a kernel in registers. A shader that breaks one of them
// anywhere runs at a fifth of its speed, and nothing else shows the mistake. See docs/kernel_rules.md, "Registers,
// spills, machine code".
#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "pipelines/module_calls.hpp"
#include "pipelines/shader_table.hpp"
#include "pipelines/spirv.hpp"

namespace {

// Counts the loops of a module that have the hint to unroll, and those of them that end at a constant. Only these can
// be unrolled. glslang writes a loop as a header that names its test, and the test as one block that ends in a
// comparison.
struct UnrolledLoops {
    size_t all = 0;
    size_t counted = 0;

    explicit UnrolledLoops(const std::vector<uint32_t>& module) {
        // SPIR-V's unified specification, sections 3.42.7 to 3.42.17.
        constexpr uint32_t unroll = 1;
        constexpr uint32_t firstComparison = 170; // OpIEqual
        constexpr uint32_t lastComparison = 179;  // OpSLessThanEqual
        std::set<uint32_t> constants;
        bool test = false;
        vkf::forEachInstruction(std::span(module), [&](uint32_t opcode, std::span<const uint32_t> words) {
            if (opcode == 43 || opcode == 50 || opcode == 52) { // OpConstant, OpSpecConstant, OpSpecConstantOp
                constants.insert(words[2]);
            } else if (opcode == 246) { // OpLoopMerge
                test = (words[3] & unroll) != 0;
                all += test ? 1 : 0;
            } else if (test && opcode >= firstComparison && opcode <= lastComparison) {
                counted += constants.count(words[3]) + constants.count(words[4]) != 0 ? 1 : 0;
                test = false;
            }
        });
    }
};

const std::vector<vkf::ShaderBinary>& builtShaders() {
    static const std::vector<vkf::ShaderBinary> built = [] {
        std::vector<vkf::ShaderBinary> binaries(vkf::shaderBinaries, vkf::shaderBinaries + vkf::shaderBinariesCount);
        std::erase_if(binaries, [](const vkf::ShaderBinary& binary) { return binary.units == nullptr; });
        return binaries;
    }();
    return built;
}

} // namespace

TEST_CASE("no shader calls deeper than NVIDIA's compiler inlines", "[planning]") {
    for (const vkf::ShaderBinary& binary : builtShaders()) {
        CAPTURE(binary.name);
        const vkf::test::Calls calls(binary.words());
        CHECK(calls.depth(calls.entry) <= vkf::test::deepestInlined);
    }
}

TEST_CASE("loops to be unrolled count to a constant", "[planning]") {
    for (const vkf::ShaderBinary& binary : builtShaders()) {
        CAPTURE(binary.name);
        const UnrolledLoops loops(binary.words());
        CHECK(loops.counted == loops.all);
    }
}

TEST_CASE("the depth of calls is counted along the longest way", "[planning]") {
    const std::vector<uint32_t> module = {
        0x07230203,    0x00010500, 0, 9, 0, // header
        4 << 16 | 15U, 5,          1, 0,    // starts with 1
        5 << 16 | 54U, 8,          1, 0, 8, // 1 calls 2 and 3
        4 << 16 | 57U, 8,          7, 2,    //
        4 << 16 | 57U, 8,          6, 3,    //
        5 << 16 | 54U, 8,          2, 0, 8, // 2 calls 3
        4 << 16 | 57U, 8,          5, 3,    //
        5 << 16 | 54U, 8,          3, 0, 8, // 3 calls nothing
    };
    const vkf::test::Calls calls(module);
    CHECK(calls.depth(calls.entry) == 3);
    CHECK(calls.depth(3) == 1);
}

TEST_CASE("a loop to a variable is found", "[planning]") {
    std::vector<uint32_t> module = {
        0x07230203,     0x00010500, 0, 9, 0, // header
        4 << 16 | 43U,  1,          2, 8,    // constant 2
        4 << 16 | 246U, 4,          5, 1,    // a loop to unroll
        5 << 16 | 176U, 3,          6, 7, 2, // 7 < 2
        4 << 16 | 246U, 4,          5, 2,    // a loop without the hint
        5 << 16 | 176U, 3,          6, 7, 7, // 7 < 7
    };
    CHECK(UnrolledLoops(module).all == 1);
    CHECK(UnrolledLoops(module).counted == 1);
    module[module.size() - 6] = 1;
    CHECK(UnrolledLoops(module).all == 2);
    CHECK(UnrolledLoops(module).counted == 1);
}
