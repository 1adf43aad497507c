// SPDX-License-Identifier: MIT
//
// How far a bias, a boolean mask and a block mask reach in memory. Plain arithmetic in a header, so that the CPU
// reference can use it: a shared core library exports nothing of it.
#pragma once

#include <cstdint>

#include "problem/problem.hpp"

namespace vkf {

// Bits of an element of a bias or a boolean mask; 0 of other types.
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

// Bytes of a bias or a mask from the first to one past the last that is read, in whole words of 4; 0 if none is.
inline uint64_t broadcastBytes(const VkfProblem& p, VkfArrayBits array) {
    const VkfBroadcastArray& bias = array == VKF_ARRAY_BIAS ? p.bias : array == VKF_ARRAY_MASK ? p.mask : p.dropoutMask;
    if (!has(p, array) || p.batch == 0 || p.queryHeads == 0 || p.queryRows == 0 || p.keys == 0) {
        return 0;
    }
    const auto lastOf = [](uint32_t count, uint64_t stride) { return (count - 1) * stride; };
    const uint64_t elements = lastOf(p.batch, bias.batchStride) + lastOf(p.queryHeads, bias.headStride) +
                              lastOf(longestRowsOf(p), bias.rowStride) + longestKeysOf(p);
    constexpr uint64_t wordBytes = sizeof(uint32_t); // in which kernels read them
    constexpr uint64_t wordBits = wordBytes * 8;
    return (elements * broadcastBits(bias.type) + wordBits - 1) / wordBits * wordBytes;
}

// The problem must have passed checkBlockMask. All zeros without a block mask.
inline VkfBlockMaskLayout blockMaskLayout(const VkfProblem& p) {
    VkfBlockMaskLayout layout{};
    if (!has(p, VKF_ARRAY_BLOCK_MASK)) {
        return layout;
    }
    layout.rowBlocks = (p.queryRows + p.blockMask.blockSize - 1) / p.blockMask.blockSize;
    layout.keyBlocks = (p.keys + p.blockMask.blockSize - 1) / p.blockMask.blockSize;
    layout.rowWords = (layout.keyBlocks + 31) / 32;
    const uint64_t ofHead = uint64_t{layout.rowBlocks} * layout.rowWords;
    if (p.batch != 0 && p.queryHeads != 0 && ofHead != 0) {
        layout.words = (p.batch - 1) * p.blockMask.batchStride + (p.queryHeads - 1) * p.blockMask.headStride + ofHead;
    }
    return layout;
}

} // namespace vkf
