// SPDX-License-Identifier: MIT
#include "problem/checks.hpp"

#include <algorithm>

#include "base/message.hpp"
#include "problem/masks/positions.hpp"
#include "problem/problem.hpp"
#include "shared/attention_params.h"

namespace vkf {

VkfResult checkBlockMask(const VkfProblem& p, VkfMessage* message) {
    const VkfBlockMask& mask = p.blockMask;
    if (mask.blockSize % VKF_MIN_MASK_BLOCK != 0 || mask.blockSize > VKF_MAX_MASK_BLOCK) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "blockMask.blockSize is %u; it must be a multiple of %d, at most %d", mask.blockSize,
                    VKF_MIN_MASK_BLOCK, VKF_MAX_MASK_BLOCK);
    }
    if (std::max(mask.batchStride, mask.headStride) > UINT32_MAX) {
        const bool batch = mask.batchStride > UINT32_MAX;
        return fail(message, VKF_ERROR_UNSUPPORTED, "blockMask.%s %llu is over the limit of 4294967295",
                    batch ? "batchStride" : "headStride",
                    static_cast<unsigned long long>(batch ? mask.batchStride : mask.headStride));
    }
    const double words =
        static_cast<double>(mask.batchStride) * p.batch + static_cast<double>(mask.headStride) * p.queryHeads;
    if (words > 0x1p60) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                    "batch * blockMask.batchStride + queryHeads * blockMask.headStride is over 2^60 words");
    }
    return VKF_SUCCESS;
}

void foldWindow(CheckedProblem* checked) {
    const VkfProblem& p = checked->fields;
    checked->windowLeft = has(p, VKF_USE_WINDOW) ? p.window.left : -1;
    checked->windowRight = has(p, VKF_USE_WINDOW) ? p.window.right : -1;
    if (has(p, VKF_USE_CAUSAL)) {
        checked->windowRight = 0;
    }
}

double visiblePairs(const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    // The host does not know the lengths of packed sequences. It assumes that all are equal.
    const double sequences = p.batch;
    const double rows = has(p, VKF_USE_CU_SEQLENS) ? p.queryRows / sequences : p.queryRows;
    const double keys = has(p, VKF_USE_CU_SEQLENS) && !has(p, VKF_USE_BLOCK_TABLE) ? p.keys / sequences : p.keys;
    const double most = mostKeysOf(p);
    if (!problem.windowed()) {
        return rows * std::min(keys, most);
    }
    const auto keyStride = static_cast<double>(keyStrideOf(p));
    const double step = static_cast<double>(rowStrideOf(p)) / keyStride;
    // Where the device has the offsets, rows are taken for the last of a sequence whose parts are all as long.
    const double offset =
        hasOffsetOnDevice(p)
            ? keys * keyStride - rows * static_cast<double>(rowStrideOf(p))
            : static_cast<double>(rowOffsetOf(p, static_cast<int64_t>(rows), static_cast<int64_t>(keys)));
    // Number of pairs that stand less than c apart, over all rows i and all keys j < end: the sum over i of
    // (i rowStride + c) / keyStride, clamped into [0, end], in closed form.
    const auto pairsBefore = [&](double distance, double end) {
        const double c = distance / keyStride;
        const double firstOpen = std::clamp(-c / step, 0.0, rows);        // no pair in the rows before it
        const double firstFull = std::clamp((end - c) / step, 0.0, rows); // `end` pairs in each row from it on
        const double partial = firstFull - firstOpen;
        return partial * (c + step * (firstOpen + firstFull - 1.0) / 2.0) + (rows - firstFull) * end;
    };
    const auto keysBefore = [&](double c) { return pairsBefore(c, keys); };
    const double before =
        problem.windowRight < 0 ? rows * keys : keysBefore(offset + static_cast<double>(problem.windowRight) + 1.0);
    const double hidden = problem.windowLeft < 0 ? 0.0 : keysBefore(offset - static_cast<double>(problem.windowLeft));
    // First keys count before the window. They also count after it, unless the mask is causal.
    const double first = std::min<double>(problem.firstKeys(), keys);
    const double firstBefore =
        problem.windowLeft < 0 ? 0.0 : pairsBefore(offset - static_cast<double>(problem.windowLeft), first);
    const double firstAfter =
        problem.windowRight < 0 || has(p, VKF_USE_CAUSAL)
            ? 0.0
            : rows * first - pairsBefore(offset + static_cast<double>(problem.windowRight) + 1.0, first);
    return std::min(std::max(before - hidden, 0.0) + firstBefore + firstAfter, rows * most);
}

} // namespace vkf
