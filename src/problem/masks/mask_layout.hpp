// SPDX-License-Identifier: MIT
//
// How far bias, mask, dropoutMask and block mask reach in memory. The functions are inline because the CPU reference
// uses them, and a shared core library does not export them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "problem/problem.hpp"

namespace vkf {

// Returns the bits of one element of a bias or a boolean mask. 0 for other types.
inline uint32_t broadcastBits(VkfType type) {
    switch (type) {
    case VKF_TYPE_F32:
        return 32;
    case VKF_TYPE_F16:
    case VKF_TYPE_BF16:
        return 16;
    case VKF_TYPE_BOOL8:
        return 8;
    case VKF_TYPE_BOOL1:
        return 1;
    default:
        return 0;
    }
}

// Returns how many heads or sequences a bias or mask has, of a problem that has `count`. `requested` is the field
// `heads` or `sequences`.
inline uint32_t repeatedCount(uint32_t requested, uint32_t count) {
    return requested != 0 ? std::min(requested, count) : count;
}

// Whether an index into heads or sequences must be taken modulo their number. A single one needs only a stride of 0.
inline bool repeatsByModulo(const VkfProblem& p, const VkfBroadcastArray& array) {
    const uint32_t heads = repeatedCount(array.heads, p.queryHeads);
    const uint32_t sequences = repeatedCount(array.sequences, p.batch);
    return (array.headStride != 0 && heads > 1 && heads < p.queryHeads) ||
           (array.batchStride != 0 && sequences > 1 && sequences < p.batch);
}

// Returns the bytes of a bias or mask from the first one to one past the last one that is read, rounded up to 4. 0 if
// nothing is read. `bit` is VKF_USE_BIAS, VKF_USE_MASK or VKF_USE_DROPOUT_MASK.
inline uint64_t broadcastBytes(const VkfProblem& p, VkfUseBits bit) {
    const VkfBroadcastArray& layout = bit == VKF_USE_BIAS ? p.bias : bit == VKF_USE_MASK ? p.mask : p.dropoutMask;
    if (!has(p, bit) || p.queryHeads == 0 || p.queryRows == 0 || p.keys == 0) {
        return 0;
    }
    const auto lastOf = [](uint32_t count, uint64_t stride) { return (count - 1) * stride; };
    const uint64_t elements = lastOf(repeatedCount(layout.sequences, p.batch), layout.batchStride) +
                              lastOf(repeatedCount(layout.heads, p.queryHeads), layout.headStride) +
                              lastOf(longestRowsOf(p), layout.rowStride) +
                              (layout.lastKeys != 0 ? layout.lastKeys : longestKeysOf(p));
    constexpr uint64_t wordBytes = sizeof(uint32_t); // kernels read words of this size
    constexpr uint64_t wordBits = wordBytes * 8;
    return (elements * broadcastBits(layout.type) + wordBits - 1) / wordBits * wordBytes;
}

// Returns the layout of the block mask; all zeros without a block mask. The problem must have passed checkBlockMask.
inline VkfBlockMaskLayout blockMaskLayout(const VkfProblem& p) {
    VkfBlockMaskLayout layout{};
    if (!has(p, VKF_USE_BLOCK_MASK)) {
        return layout;
    }
    layout.rowBlocks = (p.queryRows + p.blockMask.blockSize - 1) / p.blockMask.blockSize;
    layout.keyBlocks = (p.keys + p.blockMask.blockSize - 1) / p.blockMask.blockSize;
    layout.rowWords = (layout.keyBlocks + 31) / 32;
    const uint64_t headWords = uint64_t{layout.rowBlocks} * layout.rowWords;
    if (p.queryHeads != 0 && headWords != 0) {
        layout.words =
            (p.batch - 1) * p.blockMask.batchStride + (p.queryHeads - 1) * p.blockMask.headStride + headWords;
    }
    return layout;
}

} // namespace vkf
