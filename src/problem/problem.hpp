// SPDX-License-Identifier: MIT
//
// A checked problem with its defaults filled in: what the rest of the library works with.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <vkflash/problem.hpp>

#include "shared/attention_params.h"
#include "shared/stored_types.h"

namespace vkf {

inline constexpr uint32_t maxHeadDim = VKF_MAX_DIM; // of all paths but decode
inline constexpr uint32_t maxDecodeHeadDim = VKF_MAX_DECODE_DIM;
inline constexpr uint32_t maxDecodeValueDim = VKF_MAX_DECODE_VALUE_DIM;

// Whether the type stores blocks of quantised elements. k and v can have such types.
inline bool isBlockType(VkfType type) { return VKF_IS_BLOCK_TYPE(type); }

// An address of an element is a multiple of so many bytes. Blocks begin with a number of 16 bits.
inline uint64_t elementAlignment(VkfType type) { return isBlockType(type) ? 2 : vkfTypeBytes(type); }

// Indexed by VkfTensorRole.
using Layouts = std::array<VkfTensorLayout, 4>;

struct CheckedProblem {
    VkfProblem given; // with defaults filled in: valueDim and scale are not 0
    Layouts layouts;
    int64_t windowLeft;  // -1 = unlimited; causal folded in
    int64_t windowRight; // -1 = unlimited
    bool empty;          // the output has no elements
    VkfBlockMaskLayout blockMask;

    const VkfTensorLayout& layout(VkfTensorRole role) const { return layouts[static_cast<size_t>(role)]; }
    // The first keys that rows see besides the window; 0 without a window.
    uint32_t firstKeys() const {
        return given.window.enabled != 0 && windowed() ? std::min<uint32_t>(given.window.firstKeys, given.keys) : 0;
    }
    bool windowed() const { return windowLeft >= 0 || windowRight >= 0; }
    // Whether there are per-key masks: boolean masks and documents.
    bool asksKeys() const { return has(given, VKF_ARRAY_MASK) || has(given, VKF_ARRAY_DOCUMENT_IDS); }
};

// Sequences that the tensors q and o have, and k and v without pages. Packed sequences count as one.
inline uint32_t tensorSequences(const VkfProblem& p) {
    return has(p, VKF_ARRAY_CU_SEQLENS) ? std::min(p.batch, 1U) : p.batch;
}
// Sequences of keys. Packed sequences count as one, except in pages.
inline uint32_t keySequences(const VkfProblem& p) {
    return has(p, VKF_ARRAY_BLOCK_TABLE) ? p.batch : tensorSequences(p);
}

// The most rows and keys that one sequence has.
inline uint32_t longestRowsOf(const VkfProblem& p) { return p.longestRows != 0 ? p.longestRows : p.queryRows; }
inline uint32_t longestKeysOf(const VkfProblem& p) { return p.longestKeys != 0 ? p.longestKeys : p.keys; }

// The sizes that tiles and splits are chosen for: those of the longest sequence if the caller gave it, otherwise the
// mean. typicalSequences is the number of such sequences that has as many rows as all sequences together.
uint32_t typicalRows(const VkfProblem& problem);
uint32_t typicalKeys(const VkfProblem& problem);
uint32_t typicalSequences(const VkfProblem& problem);
// The number of slots of packed sequences: one slot takes one tile of `tileRows` packed rows.
uint64_t slotCount(const VkfProblem& problem, uint32_t packedHeads, uint32_t tileRows);
// Rows whose probabilities are written.
inline uint32_t probabilityRows(const VkfProblem& problem) {
    return has(problem, VKF_ARRAY_PROBABILITY_ROWS) ? problem.probabilityRowCount : problem.queryRows;
}

// Checks everything that needs no device. Fills *checked on success.
VkfResult checkProblem(const VkfProblem* problem, CheckedProblem* checked, VkfMessage* message);

// Visible pairs of a query row and a key, for one head, if every sequence has all its keys.
double visiblePairs(const CheckedProblem& problem);

} // namespace vkf
