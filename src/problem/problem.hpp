// SPDX-License-Identifier: MIT
//
// CheckedProblem: a checked problem with its defaults filled in. The rest of the library works with it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <vkflash/problem.hpp>

#include "problem/functions.hpp"
#include "shared/attention_params.h"
#include "shared/stored_types.h"

namespace vkf {

inline constexpr uint32_t maxHeadDim = VKF_MAX_DIM; // headDim and valueDim of all paths but decode
inline constexpr uint32_t maxDecodeHeadDim = VKF_MAX_DECODE_DIM;
inline constexpr uint32_t maxDecodeValueDim = VKF_MAX_DECODE_VALUE_DIM;
// Rows of all heads and key splits, work items, tiles of packed sequences (shaders/shared/work_items.h).
inline constexpr uint64_t maxCount = VKF_MAX_COUNT;

// Whether the type stores blocks of elements, quantised or fp8. k and v can have such types.
inline bool isBlockType(VkfType type) { return VKF_IS_BLOCK_TYPE(type); }
inline bool isFp8(VkfType type) { return VKF_IS_FP8(type); }
// The block types, in messages.
inline constexpr const char* blockTypeNames = ", q8_0, q4_0, q4_1, q5_0, q5_1, iq4_nl, e4m3, e5m2";

// Returns the alignment of an element's address, in bytes. Kernels load whole blocks of fp8 types. Other blocks begin
// with a 16-bit number.
inline uint64_t elementAlignment(VkfType type) {
    return isFp8(type) ? VKF_BLOCK_BYTES(type) : isBlockType(type) ? 2 : vkfTypeBytes(type);
}

// Indexed by VkfTensorRole.
using Layouts = std::array<VkfTensorLayout, 4>;

struct CheckedProblem {
    VkfProblem fields; // with defaults filled in: valueDim and scale are not 0
    Layouts layouts;
    // Bounds of the window; -1 = unlimited. A causal mask counts as a window with right = 0.
    int64_t windowLeft;
    int64_t windowRight;
    bool empty;                   // the output has no elements
    VkfBlockMaskLayout blockMask; // all zeros without a block mask

    const VkfTensorLayout& layout(VkfTensorRole role) const { return layouts[static_cast<size_t>(role)]; }
    // Number of first keys that rows see besides the window; 0 without a window.
    uint32_t firstKeys() const {
        return has(fields, VKF_USE_WINDOW) && windowed() ? std::min<uint32_t>(fields.window.firstKeys, fields.keys) : 0;
    }
    // Whether a window or a causal mask limits the keys of a row.
    bool windowed() const { return windowLeft >= 0 || windowRight >= 0; }
    // Whether there are per-key masks: boolean masks, documents, first keys, and a mask of the caller's own.
    bool hasPerKeyMasks() const {
        return has(fields, VKF_USE_MASK) || has(fields, VKF_USE_DOCUMENT_IDS) || firstKeys() != 0 ||
               hasFunction(fields, VKF_FUNCTION_KEEP);
    }
};

// Batch of the tensors q and o, and of k and v without pages. All packed sequences together count as one.
inline uint32_t tensorSequences(const VkfProblem& p) { return has(p, VKF_USE_CU_SEQLENS) ? 1 : p.batch; }
// Number of arrays of `keys` keys. All packed sequences together count as one, except with pages.
inline uint32_t keySequences(const VkfProblem& p) { return has(p, VKF_USE_BLOCK_TABLE) ? p.batch : tensorSequences(p); }

// The most rows and keys that one sequence can have.
inline uint32_t longestRowsOf(const VkfProblem& p) { return p.longestRows != 0 ? p.longestRows : p.queryRows; }
inline uint32_t longestKeysOf(const VkfProblem& p) { return p.longestKeys != 0 ? p.longestKeys : p.keys; }

// The most keys that one row can see.
inline uint32_t mostKeysOf(const VkfProblem& p) {
    return has(p, VKF_USE_CHOSEN_KEYS) ? std::min(p.chosenKeys.count, longestKeysOf(p)) : longestKeysOf(p);
}

// The sizes for which the library chooses tiles and key splits. For packed sequences these are longestRows and
// longestKeys, or the mean if these are 0. Packed sequences with pages have `keys` instead of the mean.
// Lists of chosen keys limit the keys.
//
// If key splits have a fixed number of keys, the sizes do not depend on the batch: they are constants, and queryRows of
// sequences that are not packed.
//
// typicalSequences sequences of typicalRows rows have about as many rows as all packed sequences together. The number
// is at most batch.
uint32_t typicalRows(const VkfProblem& problem);
// Packed rows of a KV head in a typical sequence.
uint64_t typicalPackedRows(const VkfProblem& problem);
uint32_t typicalKeys(const VkfProblem& problem);
uint32_t typicalSequences(const VkfProblem& problem);
// Returns the number of row tiles that packed sequences may have. A tile has `tileRows` packed rows.
uint64_t sequenceTileCount(const VkfProblem& problem, uint32_t packedHeads, uint32_t tileRows);
// Whether calls never split their keys: splitKeys is over what a sequence can have.
inline bool neverSplits(const VkfProblem& problem) { return problem.splitKeys >= VKF_MAX_ROWS; }
// Number of rows of each head that have probabilities.
inline uint32_t probabilityRows(const VkfProblem& problem) {
    return has(problem, VKF_USE_PROBABILITY_ROWS) ? problem.probabilityRowCount : problem.queryRows;
}

// Checks everything that needs no device. Fills *checked on success.
VkfResult checkProblem(const VkfProblem* problem, CheckedProblem* checked, VkfMessage* message);

// Returns the visible pairs of a query row and a key, of one head of one sequence. Counts causal masks, windows and
// first keys. Other masks and keyLengths count as if they dropped nothing. Packed sequences count as if all had equal
// lengths.
double visiblePairs(const CheckedProblem& problem);

} // namespace vkf
