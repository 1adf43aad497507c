// SPDX-License-Identifier: MIT
#include "rolled_loops.hpp"

namespace vkf {

std::vector<uint32_t> withRolledLoops(const uint32_t* words, size_t count) {
    // Of SPIR-V's unified specification: sections 2.3, 3.23 (Loop Control) and 3.42.17 (OpLoopMerge).
    constexpr size_t headerWords = 5;
    constexpr uint32_t loopMerge = 246;
    constexpr size_t controlOperand = 3;
    constexpr uint32_t unroll = 1;
    constexpr uint32_t dontUnroll = 2;

    std::vector<uint32_t> module(words, words + count);
    for (size_t at = headerWords; at < count; at += module[at] >> 16) {
        if ((module[at] & 0xffffU) == loopMerge && (module[at + controlOperand] & unroll) != 0) {
            module[at + controlOperand] ^= unroll | dontUnroll;
        }
    }
    return module;
}

} // namespace vkf
