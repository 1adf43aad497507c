// SPDX-License-Identifier: MIT
//
// A checked problem with its defaults filled in: what the rest of the library works with.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <vkflash/problem.h>

#include "shared/attention_params.h"
#include "shared/stored_types.h"

namespace vkf {

inline constexpr uint32_t maxHeadDim = VKF_MAX_DIM; // of all paths but decode
inline constexpr uint32_t maxDecodeHeadDim = VKF_MAX_DECODE_DIM;
inline constexpr uint32_t maxDecodeValueDim = VKF_MAX_DECODE_VALUE_DIM;

// Blocks of quantised elements, which k and v may have.
inline bool isBlockType(VkfType type) { return VKF_IS_BLOCK_TYPE(type); }

// What an address of single elements is a multiple of: blocks begin with a number of 16 bits.
inline uint64_t elementAlignment(VkfType type) { return isBlockType(type) ? 2 : vkfTypeBytes(type); }

// Indexed by VkfTensorRole.
using Layouts = std::array<VkfTensorLayout, 4>;

struct CheckedProblem {
    VkfProblem given; // valueDim and scale no longer 0
    Layouts layouts;
    int64_t windowLeft;  // -1 = unlimited; causal folded in
    int64_t windowRight; // -1 = unlimited
    bool empty;          // the output has no elements
    VkfBlockMaskLayout blockMask;

    const VkfTensorLayout& layout(VkfTensorRole role) const { return layouts[static_cast<size_t>(role)]; }
    // Seen beside the window; 0 without one.
    uint32_t firstKeys() const {
        return given.window.enabled != 0 && windowed() ? std::min<uint32_t>(given.window.firstKeys, given.keys) : 0;
    }
    bool windowed() const { return windowLeft >= 0 || windowRight >= 0; }
    // Whether masks are asked about each key, as no range of keys nor blocks tell them: boolean ones and documents.
    bool asksKeys() const { return given.mask.enabled != 0 || given.documents != 0; }
};

// Of q and o as tensors, and of k and v that are not in pages: packed sequences are one.
inline uint32_t tensorSequences(const VkfProblem& p) { return p.packed != 0 ? std::min(p.batch, 1U) : p.batch; }
// Of the keys, in the arrays that have a number for each.
inline uint32_t keySequences(const VkfProblem& p) { return p.paging.enabled != 0 ? p.batch : tensorSequences(p); }

// Of a sequence, at most.
inline uint32_t longestRowsOf(const VkfProblem& p) { return p.longestRows != 0 ? p.longestRows : p.queryRows; }
inline uint32_t longestKeysOf(const VkfProblem& p) { return p.longestKeys != 0 ? p.longestKeys : p.keys; }

// What tiles and splits are chosen for: the longest sequence, if the caller told it, else the mean, and as many of them
// as make up all rows.
uint32_t typicalRows(const VkfProblem& problem);
uint32_t typicalKeys(const VkfProblem& problem);
uint32_t typicalSequences(const VkfProblem& problem);
// The number of slots of packed sequences: one slot takes one tile of `tileRows` packed rows.
uint64_t slotCount(const VkfProblem& problem, uint32_t packedHeads, uint32_t tileRows);
// Rows that the weights have.
inline uint32_t weightRows(const VkfProblem& problem) {
    return problem.weightRows != 0 ? problem.weightRows : problem.queryRows;
}

// Everything that can be said without a device. Fills *checked on success.
VkfResult checkProblem(const VkfProblem* problem, CheckedProblem* checked, VkfMessage* message);

// (query row, key) pairs that are visible if every sequence has all its keys, for one head.
double visiblePairs(const CheckedProblem& problem);

} // namespace vkf
