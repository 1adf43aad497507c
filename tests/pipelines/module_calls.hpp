// SPDX-License-Identifier: MIT
//
// How deep the functions of a SPIR-V module call each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "pipelines/spirv.hpp"

namespace vkf::test {

// The levels of calls that NVIDIA's compiler inlines, `main` included (docs/kernel_rules.md, "Chains of calls").
inline constexpr size_t deepestInlined = 8;

// The functions that each function of a SPIR-V module calls, and the entry function.
struct Calls {
    std::map<uint32_t, std::vector<uint32_t>> callees;
    uint32_t entry = 0;

    explicit Calls(const std::vector<uint32_t>& module) {
        uint32_t current = 0;
        vkf::forEachInstruction(std::span(module), [&](uint32_t opcode, std::span<const uint32_t> words) {
            if (opcode == vkf::opEntryPoint) {
                entry = words[2];
            } else if (opcode == vkf::opFunction) {
                current = words[2];
            } else if (opcode == vkf::opFunctionCall) {
                callees[current].push_back(words[3]);
            }
        });
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

} // namespace vkf::test
