// SPDX-License-Identifier: MIT
//
// Online softmax of a thread's two rows: the running maximum m, the running sum l, the probabilities.
//
// m is a whole number, in units of log2. It moves only where a score exceeds it by more than RESCALE_THRESHOLD. So
// nearly all tiles leave o unchanged. All factors are powers of two, so an m that lags behind does not change how
// probabilities are rounded to 16 bits. No probability exceeds 2^RESCALE_THRESHOLD, far below the largest fp16.
#ifndef VKF_WGMMA_SOFTMAX_HPP
#define VKF_WGMMA_SOFTMAX_HPP

#include "wgmma/instructions.hpp"
#include "wgmma/scores.hpp"

namespace vkf::wgmma {

constexpr float RESCALE_THRESHOLD = 8.0f;
// m before any key. It is finite, so that a score of -infinity minus it is -infinity and not NaN.
constexpr float BEFORE_ANY_KEY = -3.402823466e38f;

struct RowStates {
    float m[LANE_ROWS] = {BEFORE_ANY_KEY, BEFORE_ANY_KEY};
    float l[LANE_ROWS] = {}; // over the keys of this thread
};

// The largest or the sum over the four threads that share rows.
VKF_DEVICE float maximumOfRow(float x) {
    x = maximum(x, shuffleXor(x, 1));
    return maximum(x, shuffleXor(x, 2));
}
VKF_DEVICE float sumOfRow(float x) {
    x += shuffleXor(x, 1);
    return x + shuffleXor(x, 2);
}

// Line 9: raises m so that no score exceeds it by more than the threshold, and scales l and o to the new m. `scale` is
// deferred: it multiplies a score where it is used.
template <uint32_t S_COUNT, uint32_t O_COUNT>
VKF_DEVICE void raiseMaximum(const float (&s)[S_COUNT], const float scale, RowStates& rows, float (&o)[O_COUNT]) {
    float largest[LANE_ROWS] = {s[0], s[2]};
    VKF_UNROLL for (uint32_t i = 0; i < S_COUNT; i++) { largest[rowOf(i)] = maximum(largest[rowOf(i)], s[i]); }
    bool exceeds = false;
    VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
        largest[h] *= scale;
        exceeds = exceeds || largest[h] > rows.m[h] + RESCALE_THRESHOLD; // false for NaN
    }
    if (!anyLane(exceeds)) {
        return;
    }
    float factor[LANE_ROWS];
    VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
        const float m = roundUp(maximumOfRow(maximum(largest[h], rows.m[h])));
        factor[h] = exp2(rows.m[h] - m);
        rows.m[h] = m;
        rows.l[h] *= factor[h];
    }
    VKF_UNROLL for (uint32_t i = 0; i < O_COUNT; i++) { o[i] *= factor[rowOf(i)]; }
}

// Line 9: p = 2^(s scale - m) for s[first] and the `count` - 1 after it, as left operands of p v. l takes p before its
// rounding.
template <bool BF16, uint32_t S_COUNT>
VKF_DEVICE void makeProbabilities(const float (&s)[S_COUNT], const float scale, RowStates& rows,
                                  uint32_t (&p)[S_COUNT / 2], const uint32_t first, const uint32_t count) {
    float sum[LANE_ROWS] = {};
    VKF_UNROLL for (uint32_t i = first; i < first + count; i += 2) {
        const uint32_t h = rowOf(i);
        float pair[2];
        VKF_UNROLL for (uint32_t e = 0; e < 2; e++) { pair[e] = exp2(fma(s[i + e], scale, -rows.m[h])); }
        sum[h] += pair[0] + pair[1];
        // Columns 8 c and 8 c + 1 of row h are word 2 c + h.
        p[i / 4 * 2 + h] = packHalves<BF16>(pair[0], pair[1]);
    }
    VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) { rows.l[h] += sum[h]; }
}

} // namespace vkf::wgmma

#endif
