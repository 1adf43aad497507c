// SPDX-License-Identifier: MIT
//
// Scores of a tile in registers: softcap and ALiBi (the formulas of scores/final_score.glsl and
// scores/score_terms.glsl), the masks of partial tiles, and online softmax. Scores are in units of log2.
#ifndef VKF_WGMMA_SCORES_HPP
#define VKF_WGMMA_SCORES_HPP

#include "wgmma/instructions.hpp"
#include "wgmma/item.hpp"

namespace vkf::wgmma {

constexpr float MINUS_INFINITY = -__builtin_inff();
constexpr float LOG2E = 1.44269504088896341f;
constexpr float LN2 = 0.693147180559945309f;

// The two rows of a thread: h = 0 and 1 of the layouts in instructions.hpp.
constexpr uint32_t LANE_ROWS = 2;

// The row of the thread in which result d[i] lies, and its column, counted from the thread's first one.
VKF_DEVICE constexpr uint32_t rowOf(const uint32_t i) { return i / 2 % 2; }
VKF_DEVICE constexpr uint32_t columnOf(const uint32_t i) { return i / 4 * 8 + i % 2; }

// tanh. The instruction loses relative accuracy near 0, and a softcap multiplies the error. Both forms are computed,
// because a warp has nearly always scores for each.
VKF_DEVICE float tanhAccurate(const float x) {
    const float u = x * x;
    const float p =
        fma(fma(fma(fma(-0.00609671418f, u, 0.0209971797f), u, -0.0538509078f), u, 0.133327693f), u, -0.333333284f);
    const float near = fma(x * u, p, x);
    // For x < 0 this would lose a bit, so the sign comes last.
    const float far = fma(-2.0f, reciprocal(exp2(magnitude(x) * 2.88539008f) + 1.0f), 1.0f);
    const float signed_far = asFloat(asBits(far) | (asBits(x) & 0x80000000u));
    return select(magnitude(x) < 0.625f, near, signed_far);
}

// Applies scale and softcap. Where all scores of a warp are near 0, a polynomial replaces tanh.
template <uint32_t COUNT> VKF_DEVICE void capScores(float (&s)[COUNT], const float scale, const float softcap) {
    constexpr float NEAR_ZERO = 0.2f;
    float largest = 0.0f;
    VKF_UNROLL for (uint32_t i = 0; i < COUNT; i++) { largest = maximum(largest, magnitude(s[i])); }
    // The powers of other scales are too small or too large.
    const bool polynomial = scale > 2e-4f && scale < 1e6f;
    if (allLanes(polynomial && largest * scale < NEAR_ZERO)) {
        const float square = scale * scale;
        const float x = softcap * scale;
        const float y = x * (-0.333322712f * square);
        const float z = x * (0.131204801f * (square * square));
        VKF_UNROLL for (uint32_t i = 0; i < COUNT; i++) {
            const float u = s[i] * s[i];
            s[i] *= fma(fma(z, u, y), u, x);
        }
    } else {
        VKF_UNROLL for (uint32_t i = 0; i < COUNT; i++) { s[i] = softcap * tanhAccurate(s[i] * scale); }
    }
}

// The slope of ALiBi of a head, in units of log2; scores/score_terms.glsl explains the polynomial.
VKF_DEVICE float usualSlope(const Uint heads, const Uint head) {
    const Uint log_n = 31 - static_cast<Uint>(__builtin_clz(heads));
    const Uint n = Uint{1} << log_n;
    const Uint eighths = head < n ? 8 * (head + 1) : 8 * (head - n) + 4;
    const float x = static_cast<float>(eighths & (n - 1)) / static_cast<float>(n);
    float y = 0.000157728296f;
    y = fma(y, x, -0.00184021541f);
    y = fma(y, x, 0.0138208168f);
    y = fma(y, x, -0.080056496f);
    y = fma(y, x, 0.346570462f);
    y = fma(y, x, -0.999999821f);
    y = fma(y, x, 1.44269502f);
    return y * asFloat((127 - (eighths >> log_n)) << 23);
}

VKF_DEVICE float slopeOf(const Call call, const Uint head) {
    const Uint heads = queryHeads(call);
    if (call.constants.alibi == VKF_ALIBI_CUSTOM) {
        const Address slopes = optionalInput(call, offsetof(CallTable, slopes));
        const float slope = loadGlobal<float>(slopes + Address{min(head, heads - 1)} * 4);
        return clamp(slope, -VKF_LARGEST_SLOPE, VKF_LARGEST_SLOPE) * LOG2E;
    }
    return call.constants.alibi == VKF_ALIBI_STANDARD ? usualSlope(heads, head) : 0.0f;
}

// Where a thread's rows stand, and what they see.
struct LaneRows {
    uint32_t lane;
    Uint packed_row[LANE_ROWS];
    VisibleKeys visible[LANE_ROWS];
    float slope[LANE_ROWS];
    Int position[LANE_ROWS]; // the key at which ALiBi is 0: that of the last row is the last key
};

// Applies scale and ALiBi, or just ALiBi to capped scores. `first_key` is the key of s[0]. fma rounds slope times
// distance together with the sum, because the product may be far larger than the differences of scores.
template <uint32_t COUNT>
VKF_DEVICE void addAlibi(float (&s)[COUNT], const LaneRows& rows, const Int first_key, const float scale) {
    float distance[LANE_ROWS];
    VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
        distance[h] = static_cast<float>(rows.position[h] - first_key);
    }
    VKF_UNROLL for (uint32_t i = 0; i < COUNT; i++) {
        const uint32_t h = rowOf(i);
        const float away = magnitude(distance[h] - static_cast<float>(columnOf(i)));
        s[i] = fma(-rows.slope[h], away, s[i] * scale);
    }
}

// Line 8 with softcap or ALiBi: finishes the scores of a tile.
template <uint32_t COUNT>
VKF_DEVICE void addTerms(float (&s)[COUNT], const Call call, const LaneRows& rows, const Int first_key,
                         const float scale) {
    if (call.constants.softcap) {
        capScores(s, scale, call.params.softcap);
    }
    if (call.constants.alibi != VKF_ALIBI_NONE) {
        addAlibi(s, rows, first_key, call.constants.softcap ? 1.0f : scale);
    }
}

// Sets the scores of keys that a row does not see to -infinity.
template <uint32_t COUNT> VKF_DEVICE void dropInvisible(float (&s)[COUNT], const LaneRows& rows, const Int first_key) {
    VKF_UNROLL for (uint32_t h = 0; h < LANE_ROWS; h++) {
        const VisibleKeys& visible = rows.visible[h];
        const Int first = visible.first - first_key;
        const Int begin = visible.window.begin - first_key;
        const Uint length = static_cast<Uint>(max(visible.window.end - visible.window.begin, Int{0}));
        VKF_UNROLL for (uint32_t i = 0; i < COUNT; i++) {
            if (rowOf(i) == h) {
                const Int column = static_cast<Int>(columnOf(i));
                if (column >= first && static_cast<Uint>(column - begin) >= length) {
                    s[i] = MINUS_INFINITY;
                }
            }
        }
    }
}

// Sets the scores of absent keys to -infinity. `tile_key` is the first key of the tile. Each lane looks up every 32nd
// key of it.
template <uint32_t COUNT>
VKF_DEVICE void dropAbsent(float (&s)[COUNT], const Call call, const Item& item, const uint32_t lane,
                           const Uint tile_key) {
    const Address table = tableOf(call, item);
    VKF_UNROLL for (uint32_t first = 0; first < COUNT * 2; first += 32) {
        const Uint key = min(tile_key + first + lane, item.keys - 1);
        const uint32_t present = lanesWhere(isPage(call, placeOf(call, table, key).entry)) >> 2 * (lane % 4);
        VKF_UNROLL for (uint32_t i = 0; i < COUNT; i++) {
            if (columnOf(i) / 32 == first / 32 && (present >> columnOf(i) % 32 & 1) == 0) {
                s[i] = MINUS_INFINITY;
            }
        }
    }
}

// Online softmax of a thread's two rows: the running maximum m, the running sum l, the probabilities.
//
// m is a whole number, in units of log2. It moves only where a score exceeds it by more than RESCALE_THRESHOLD. So
// nearly all tiles leave o unchanged. All factors are powers of two, so an m that lags behind does not change how
// probabilities are rounded to 16 bits. No probability exceeds 2^RESCALE_THRESHOLD, far below the largest fp16.

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
