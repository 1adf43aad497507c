// SPDX-License-Identifier: MIT
//
// Where the rows and keys of a call stand (VkfPositions). Without positions of its own, row i stands at key
// i + offset, as VkfAlignment says, and both strides are 1.
#pragma once

#include <algorithm>
#include <cstdint>

#include <vkflash/problem.hpp>

#include "shared/work_items.h"

namespace vkf {

// From the position of a row, or of a key, to that of the next one.
inline int64_t rowStrideOf(const VkfProblem& p) { return std::max(p.positions.rowStride, 1U); }
inline int64_t keyStrideOf(const VkfProblem& p) { return std::max(p.positions.keyStride, 1U); }

// Whether only the device knows the offset of positions.
inline bool hasOffsetOnDevice(const VkfProblem& p) { return has(p, VKF_USE_ROW_OFFSETS); }

// The position of row 0 less that of key 0, in a sequence of `rows` rows and `keys` keys. `rowOffset` is the sequence's
// entry of rowOffsets, where the problem has them.
inline int64_t rowOffsetOf(const VkfProblem& p, int64_t rows, int64_t keys, int64_t rowOffset = 0) {
    if (hasOffsetOnDevice(p)) {
        return std::clamp<int64_t>(rowOffset, -VKF_MAX_POSITION, VKF_MAX_POSITION - p.queryRows * rowStrideOf(p));
    }
    if (has(p, VKF_USE_POSITIONS)) {
        return int64_t{p.positions.firstRow} - int64_t{p.positions.firstKey};
    }
    return p.alignment == VKF_ALIGNMENT_TOP_LEFT ? 0 : keys - rows;
}

} // namespace vkf
