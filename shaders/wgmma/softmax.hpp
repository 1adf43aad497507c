// SPDX-License-Identifier: MIT
//
// Online softmax of a thread's two rows: the running maximum m, the running sum l, the probabilities.
//
// m is a whole number, in units of log2. It moves only where a score exceeds it by more than RESCALE_THRESHOLD. So
// nearly all tiles leave o unchanged. All factors are powers of two, so an m that lags behind does not change how
// probabilities are rounded to 16 bits. No probability exceeds 2^RESCALE_THRESHOLD, far below the largest fp16.
#ifndef VKF_WGMMA_SOFTMAX_HPP
#define VKF_WGMMA_SOFTMAX_HPP

#include "wgmma/design.hpp"
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
    VKF_UNROLL for (uint32_t i = 0; i < S_COUNT; i++) {
        largest[rowOf(i)] = maximum(largest[rowOf(i)], s[i]);
    }
    bool exceeds = VKF_RESCALES_ALWAYS;
    VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
        largest[h] *= scale;
        exceeds = exceeds || largest[h] > rows.m[h] + RESCALE_THRESHOLD; // false for NaN
    }
    if (!VKF_RESCALES_ALWAYS && !anyLane(exceeds)) {
        return;
    }
    float factor[LANE_ROWS];
    VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
        const float m = roundUp(maximumOfRow(maximum(largest[h], rows.m[h])));
        factor[h] = exp2(rows.m[h] - m);
        rows.m[h] = m;
        rows.l[h] *= factor[h];
    }
    VKF_UNROLL for (uint32_t i = 0; i < O_COUNT; i++) {
        o[i] *= factor[rowOf(i)];
    }
}

// 2^x for x up to 127, on the units of fma. 2^x = 2^whole 2^rest, with a rest of at most a half and a polynomial for
// 2^rest: a fit at Chebyshev nodes, error under 2^-22.
VKF_DEVICE float exp2ByPolynomial(const float exponent) {
    constexpr float ROUND = 12582912.0f; // 1.5 * 2^23: numbers of this size have no fraction
    float x;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(exponent), "f"(-126.0f));
    const float shifted = x + ROUND;
    const float rest = x - (shifted - ROUND);
    float y = 0.00133908633f;
    y = fma(y, rest, 0.00967603177f);
    y = fma(y, rest, 0.0555035695f);
    y = fma(y, rest, 0.240221068f);
    y = fma(y, rest, 0.693147182f);
    y = fma(y, rest, 1.00000012f);
    return y * asFloat((asBits(shifted) << 23) + 0x3f800000u);
}

// Line 9: p = 2^(s scale - m) for s[first] and the `count` - 1 after it, as left operands of p v. l takes p before its
// rounding.
template <bool BF16, uint32_t POLYNOMIALS, uint32_t S_COUNT>
VKF_DEVICE void makeProbabilities(const float (&s)[S_COUNT], const float scale, RowStates& rows,
                                  uint32_t (&p)[S_COUNT / 2], const uint32_t first, const uint32_t count) {
    float sum[LANE_ROWS] = {};
    VKF_UNROLL for (uint32_t i = first; i < first + count; i += 2) {
        const uint32_t h = rowOf(i);
        float pair[2];
        VKF_UNROLL for (uint32_t e = 0; e < 2; e++) {
            const float exponent = fma(s[i + e], scale, -rows.m[h]);
            // Spreads them evenly: the number of multiples of 16 / POLYNOMIALS grows at i.
            const uint32_t number = i + e;
            const bool polynomial = (number + 1) * POLYNOMIALS / 16 != number * POLYNOMIALS / 16;
            pair[e] = (VKF_LEAVES_OUT & 2) != 0 ? exponent
                      : polynomial              ? exp2ByPolynomial(exponent)
                                                : exp2(exponent);
        }
        sum[h] += pair[0] + pair[1];
        // Columns 8 c and 8 c + 1 of row h are word 2 c + h.
        p[i / 4 * 2 + h] = packHalves<BF16>(pair[0], pair[1]);
    }
    VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
        rows.l[h] += sum[h];
    }
}

} // namespace vkf::wgmma

#endif
