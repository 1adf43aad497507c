// SPDX-License-Identifier: MIT
#include "pipelines/rolled_loops.hpp"

#include <cstddef>
#include <span>

#include "pipelines/spirv.hpp"

namespace vkf {

std::vector<uint32_t> withRolledLoops(const std::vector<uint32_t>& module) {
    // Numbers of the unified SPIR-V specification, sections 3.23 (Loop Control) and 3.42.17 (OpLoopMerge).
    constexpr uint32_t loopMerge = 246;
    constexpr size_t controlOperand = 3;
    constexpr uint32_t unroll = 1;
    constexpr uint32_t dontUnroll = 2;

    std::vector<uint32_t> made = module;
    forEachInstruction(std::span(made), [](uint32_t opcode, std::span<uint32_t> words) {
        if (opcode == loopMerge && (words[controlOperand] & unroll) != 0) {
            words[controlOperand] ^= unroll | dontUnroll;
        }
    });
    return made;
}

} // namespace vkf
