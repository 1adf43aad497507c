// SPDX-License-Identifier: MIT
//
// Masks and score terms of a problem under test.
#pragma once

#include <algorithm>
#include <cstdint>

#include <vkflash/problem.hpp>

#include "support/call.hpp"

namespace vkf::test {

// With a causal mask, a window may not reach past the diagonal.
inline void endAtDiagonal(VkfProblem& p) {
    if (vkf::has(p, VKF_USE_CAUSAL) && p.window.right > 0) {
        p.window.right = 0;
    }
}

inline void setWindow(VkfProblem& p, int64_t left, int64_t right, uint32_t firstKeys = 0) {
    p.use |= VKF_USE_WINDOW;
    p.window.left = left;
    p.window.right = right;
    p.window.firstKeys = firstKeys;
}

// A bias or a mask of that type. Rows are `gap` elements apart; packed sequences use the longest sequence. Each
// dimension repeats or not.
inline VkfBroadcastArray broadcast(const VkfProblem& p, VkfType type, bool batches, bool heads, bool rows,
                                   uint64_t gap = 0) {
    const uint64_t row = (has(p, VKF_USE_CU_SEQLENS) && p.longestKeys != 0 ? p.longestKeys : p.keys) + gap;
    const uint64_t head = row * (has(p, VKF_USE_CU_SEQLENS) ? p.longestRows : p.queryRows);
    VkfBroadcastArray bias{};
    bias.type = type;
    bias.rowStride = rows ? row : 0;
    bias.headStride = heads ? head : 0;
    bias.batchStride = batches ? head * p.queryHeads : 0;
    return bias;
}

// A mask over the last keys of each sequence, with a row of `last` elements.
inline VkfBroadcastArray lastKeysMask(VkfProblem p, VkfType type, uint32_t last, bool batches, bool heads, bool rows,
                                      uint64_t gap = 0) {
    p.keys = last;
    p.longestKeys = p.longestKeys != 0 ? last : 0;
    VkfBroadcastArray mask = broadcast(p, type, batches, heads, rows, gap);
    mask.lastKeys = last;
    return mask;
}

// True if key j is visible to row i without block masks and boolean masks. Follows the contract directly, for tests of
// masks. rowOffset is the sequence's entry of rowOffsets.
inline bool isVisible(const VkfProblem& problem, int64_t keys, int64_t row, int64_t key, int64_t rowOffset = 0) {
    int64_t diagonal = row + (problem.alignment == VKF_ALIGNMENT_TOP_LEFT ? 0 : keys - problem.queryRows);
    int64_t position = key;
    if (has(problem, VKF_USE_POSITIONS)) {
        const VkfPositions& at = problem.positions;
        diagonal = at.firstRow + row * std::max<int64_t>(at.rowStride, 1) + rowOffset;
        position = at.firstKey + key * std::max<int64_t>(at.keyStride, 1);
    }
    if (key >= keys || (vkf::has(problem, VKF_USE_CAUSAL) && position > diagonal)) {
        return false;
    }
    if (!vkf::has(problem, VKF_USE_WINDOW)) {
        return true;
    }
    return key < problem.window.firstKeys ||
           ((problem.window.left < 0 || position >= diagonal - problem.window.left) &&
            (problem.window.right < 0 || position <= diagonal + problem.window.right));
}

struct QueryKey {
    uint64_t batch, head, row, key;
};

// Whether the mask of the caller's own keeps a pair. `keys` is the length of the sequence.
inline bool isKept(const VkfProblem& problem, const OwnFunctions* functions, int64_t keys, const QueryKey& pair) {
    if (functions == nullptr || functions->reference.keep == nullptr || static_cast<int64_t>(pair.key) >= keys) {
        return true;
    }
    const int64_t offset = problem.alignment == VKF_ALIGNMENT_TOP_LEFT ? 0 : keys - int64_t{problem.queryRows};
    const VkfPosition at{static_cast<int32_t>(pair.batch),
                         static_cast<int32_t>(pair.head),
                         static_cast<int32_t>(pair.head / (problem.queryHeads / problem.kvHeads)),
                         static_cast<int32_t>(static_cast<int64_t>(pair.row) + offset),
                         static_cast<int32_t>(pair.key),
                         static_cast<int32_t>(problem.queryRows),
                         static_cast<int32_t>(keys)};
    return functions->reference.keep(&at, functions->reference.user) != 0;
}

} // namespace vkf::test
