// SPDX-License-Identifier: MIT
//
// The PTX texts of the kernels that a launch starts (VK_NVX_binary_import). The build generates the table. It packs all
// texts together with XZ, because they are alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vkf {

struct PtxText {
    const char* name;          // also the name of the entry point in the text
    size_t begin;              // among the unpacked texts
    size_t bytes;              // of the text, without a zero byte at its end; 0 if the text is missing
    const char* missingReason; // why the text is missing, or null
};

struct PtxTexts {
    std::span<const PtxText> all;
    std::span<const uint8_t> packed;
    bool isPlain = false; // `packed` is not packed: in tests
};

extern const PtxText ptxTexts[];
extern const size_t ptxTextsCount;
extern const uint8_t ptxPacked[];
extern const size_t ptxPackedBytes;

// The texts of this build.
inline PtxTexts builtPtxTexts() { return {{ptxTexts, ptxTextsCount}, {ptxPacked, ptxPackedBytes}}; }

} // namespace vkf
