// SPDX-License-Identifier: MIT
//
// How to walk over a SPIR-V module. A module is a header and instructions, and each instruction begins with its length
// and its opcode (unified SPIR-V specification, section 2.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vkf {

inline constexpr size_t spirvHeaderWords = 5;

// Calls visit(opcode, words) for each instruction of a valid module, in order. words[0] is its head. visit may change
// the other words, unless Word is const.
template <typename Word, typename Visit> void forEachInstruction(std::span<Word> module, const Visit& visit) {
    uint32_t length = 0;
    for (size_t at = spirvHeaderWords; at < module.size(); at += length) {
        length = module[at] >> 16;
        visit(module[at] & 0xffffU, module.subspan(at, length));
    }
}

} // namespace vkf
