// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "shader_table.hpp"

namespace {

// Of a SPIR-V module: the functions that each function calls, and the one that it starts with.
struct Calls {
    std::map<uint32_t, std::vector<uint32_t>> callees;
    uint32_t entry = 0;

    explicit Calls(const std::vector<uint32_t>& module) {
        // SPIR-V's unified specification, sections 2.3, 3.42.3 and 3.42.9.
        constexpr size_t headerWords = 5;
        constexpr uint32_t entryPoint = 15;
        constexpr uint32_t function = 54;
        constexpr uint32_t functionCall = 57;
        uint32_t current = 0;
        for (size_t at = headerWords; at < module.size(); at += module[at] >> 16) {
            const uint32_t opcode = module[at] & 0xffffU;
            if (opcode == entryPoint) {
                entry = module[at + 2];
            } else if (opcode == function) {
                current = module[at + 2];
            } else if (opcode == functionCall) {
                callees[current].push_back(module[at + 3]);
            }
        }
    }

    size_t depth(uint32_t id) const {
        const auto found = callees.find(id);
        size_t deepest = 0;
        if (found != callees.end()) {
            for (const uint32_t callee : found->second) {
                deepest = std::max(deepest, depth(callee));
            }
        }
        return 1 + deepest;
    }
};

} // namespace

TEST_CASE("no shader calls deeper than NVIDIA's compiler inlines", "[schedule]") {
    // One more, anywhere in the shader, was seen to leave the matrices of the whole kernel in memory: a fifth of the
    // speed. docs/tuning.md, "Registers, spills, machine code".
    constexpr size_t deepestInlined = 8;
    for (size_t i = 0; i < vkf::shaderBinariesCount; i++) {
        const vkf::ShaderBinary& binary = vkf::shaderBinaries[i];
        if (binary.units == nullptr) {
            continue;
        }
        CAPTURE(binary.name);
        const Calls calls(binary.words());
        CHECK(calls.depth(calls.entry) <= deepestInlined);
    }
}

TEST_CASE("the depth of calls is counted along the longest way", "[schedule]") {
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
    const Calls calls(module);
    CHECK(calls.depth(calls.entry) == 3);
    CHECK(calls.depth(3) == 1);
}
