// SPDX-License-Identifier: MIT
//
// The PTX texts of the kernels that a launch starts (VK_NVX_binary_import). The build generates the table.
#pragma once

#include <cstddef>
#include <span>

namespace vkf {

struct PtxText {
    const char* name;          // also the name of the entry point in the text
    const char* text;          // ends with a zero byte; null if the text is missing
    size_t bytes;              // of the text, with the zero byte
    const char* missingReason; // why the text is missing, or null
};

extern const PtxText ptxTexts[];
extern const size_t ptxTextsCount;

inline std::span<const PtxText> allPtxTexts() { return {ptxTexts, ptxTextsCount}; }

} // namespace vkf
