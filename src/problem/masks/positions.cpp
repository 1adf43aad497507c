// SPDX-License-Identifier: MIT
#include "problem/masks/positions.hpp"

#include <algorithm>

#include "base/message.hpp"
#include "problem/checks.hpp"

namespace vkf {

VkfResult checkPositions(const VkfProblem& p, VkfMessage* message) {
    if (!has(p, VKF_USE_POSITIONS)) {
        return VKF_SUCCESS;
    }
    if (p.alignment != VKF_ALIGNMENT_BOTTOM_RIGHT) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "alignment is %s; with VKF_USE_POSITIONS it must be 0",
                    vkfAlignmentString(p.alignment));
    }
    const struct {
        uint32_t first;
        uint32_t stride;
        uint32_t count;
        const char* nameOfFirst;
        const char* nameOfStride;
        const char* nameOfCount;
    } sides[] = {
        {p.positions.firstRow, p.positions.rowStride, p.queryRows, "firstRow", "rowStride", "queryRows"},
        {p.positions.firstKey, p.positions.keyStride, p.keys, "firstKey", "keyStride", "keys"},
    };
    for (const auto& side : sides) {
        if (has(p, VKF_USE_ROW_OFFSETS) && side.first != 0) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                        "positions.%s is %u; with VKF_USE_ROW_OFFSETS it must be 0", side.nameOfFirst, side.first);
        }
        if (side.stride > VKF_MAX_POSITION_STRIDE) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "positions.%s %u is over the limit of %d", side.nameOfStride,
                        side.stride, VKF_MAX_POSITION_STRIDE);
        }
        const uint64_t end = side.first + uint64_t{side.count} * std::max(side.stride, 1U);
        if (end > VKF_MAX_POSITION) {
            return fail(message, VKF_ERROR_UNSUPPORTED,
                        "positions.%s + %s * positions.%s is %llu, over the limit of 2^29", side.nameOfFirst,
                        side.nameOfCount, side.nameOfStride, static_cast<unsigned long long>(end));
        }
    }
    return VKF_SUCCESS;
}

} // namespace vkf
