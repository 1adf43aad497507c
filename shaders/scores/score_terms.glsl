// SPDX-License-Identifier: MIT
//
// Terms that are added to a score after scale and softcap: ALiBi (Press et al. 2021, arXiv 2108.12409) and the bias.
// All are in the unit of scores.
#ifndef VKF_SCORE_TERMS_GLSL
#define VKF_SCORE_TERMS_GLSL

#include "masks/bias_type.glsl"
#include "masks/broadcast_rows.glsl"
#include "cache/scales.glsl"
#include "common/item.glsl"

layout(constant_id = VKF_ID_ALIBI) const uint ALIBI = VKF_ALIBI_NONE;

layout(constant_id = VKF_ID_BIAS_FACTORS) const bool HAS_BIAS_FACTORS = false;

const bool HAS_ALIBI = ALIBI != VKF_ALIBI_NONE;
const bool HAS_TERMS = OR_SCORE(HAS_ALIBI || HAS_BIAS);
// Whether scores must be final before the softmax. Without softcap, ALiBi and bias, the scale is deferred to the
// exponent.
const bool SCALED_EARLY = HAS_SOFTCAP || HAS_TERMS;

// The factor that is deferred to the exponent.
float deferredScale() {
    return SCALED_EARLY ? 1.0 : abs(SCORE_SCALE);
}

// The usual slope of head h of H, in the unit of scores. n is the largest power of two up to H.
//
//     h < n      2^(-8 (h + 1) / n)
//     h >= n     2^(-4 (2 (h - n) + 1) / n)
//
// The fraction of the exponent is exact. A built-in exponential may be wrong by many units, so a polynomial computes
// log2(e) 2^-x, or 2^-x for natural scores: a fit at Chebyshev nodes, error under 2^-28.
float usualSlope(const uint head) {
    uint log_n = uint(findMSB(QUERY_HEADS));
    uint n = 1u << log_n;
    uint eighths = head < n ? 8 * (head + 1) : 8 * (head - n) + 4;
    float x = float(eighths & (n - 1)) / float(n);
    const bool base_e = BASE_E_SCORES;
    float y = base_e ? 0.000109328927 : 0.000157728296;
    y = fma(y, x, base_e ? -0.00127554014 : -0.00184021541);
    y = fma(y, x, base_e ? 0.00957986015 : 0.0138208168);
    y = fma(y, x, base_e ? -0.0554909345 : -0.080056496);
    y = fma(y, x, base_e ? 0.240224337 : 0.346570462);
    y = fma(y, x, base_e ? -0.693147057 : -0.999999821);
    y = fma(y, x, base_e ? 1.0 : 1.44269502);
    return y * uintBitsToFloat((127 - (eighths >> log_n)) << 23);
}

// Address of a head's number in an array of [QUERY_HEADS]. The head is limited for llvmpipe: behind the last iteration
// of a loop it was seen to load what the next iteration would need.
uvec2 numberOfHead(const uvec2 numbers, const uint head) {
    return add64(numbers, uvec2(min(head, QUERY_HEADS - 1) * 4, 0));
}

// Slope of a query head, in the unit of scores; 0 without ALiBi.
float slopeOf(const uint head) {
    if (ALIBI == VKF_ALIBI_CUSTOM) {
        float slope = uintBitsToFloat(Word(numberOfHead(VKF_TABLE_ADDRESS(slopes), head)).value);
        return clamp(slope, -VKF_LARGEST_SLOPE, VKF_LARGEST_SLOPE) * scoreUnit();
    }
    return ALIBI == VKF_ALIBI_STANDARD ? usualSlope(head) : 0.0;
}

// The factor that multiplies the bias of a query head.
float biasFactorOf(const uint head) {
    uvec2 factors = CallTableAt(optionalInputs()).table.bias_factors;
    return uintBitsToFloat(Word(numberOfHead(factors, head)).value);
}

// Distance from the position of a query row to that of a key. Without positions of the call's own the last row stands
// at the last key, whatever the alignment is.
int distanceTo(const Item item, const uint key, const uint row) {
    return POSITIONS != VKF_POSITIONS_NONE ? keyPosition(key) - rowPosition(item, row)
                                           : int(key + SEQUENCE_ROWS(item)) - int(row + item.keys);
}

// The terms of a query row, for keys from first_key on.
struct RowTerms {
    float slope;
    float distance; // from the first of the keys to the position of the row
    BroadcastRow bias;
    float bias_factor; // for problems with bias factors
    uint first_key;
    uint last_key; // of the sequence
    ROW_PAIR_MEMBER
};

// A row past the last one has the bias of the last row. Kernels of path decode take a bias without a table too, because
// short calls notice the three dispatches and the barrier that a table takes.
RowTerms rowTerms(const Item item, const uint head, const float slope, const uint row, const uint first_key) {
    RowTerms terms;
    terms.slope = slope;
    terms.distance = float(-distanceTo(item, first_key, row));
    terms.bias = BroadcastRow(uvec2(0), 0);
    terms.bias_factor = HAS_BIAS_FACTORS ? biasFactorOf(head) : 1.0;
    terms.first_key = first_key;
    terms.last_key = item.keys - 1;
    SET_ROW_PAIR(terms, item, head, row)
#ifdef VKF_BIAS_IN_EXTRA_SLOT
    if (HAS_BIAS && EXTRA_SLOT == VKF_EXTRA_SLOT_HAS_BIAS) {
        uvec2 stride[3] = uvec2[3](uvec2(0), uvec2(0), multiply64(params.keys, 1u << LOG_BIAS_BITS));
        terms.bias = broadcastRow(optionalInputs(), stride, uint[2](1, 1), 0, 0, min(row, SEQUENCE_ROWS(item) - 1),
                                  LOG_BIAS_BITS);
        return terms;
    }
#endif
    if (HAS_BIAS) {
        CallTable table = CallTableAt(optionalInputs()).table;
        terms.bias = broadcastRow(table.bias, table.bias_stride, table.bias_repeats, item.batch, head,
                                  min(row, SEQUENCE_ROWS(item) - 1), LOG_BIAS_BITS);
    }
    return terms;
}

// Bias of a key; `key` counts from first_key. A key past the last one has the bias of the last key.
float biasOf(const RowTerms terms, const uint key) {
    uint bits = broadcastBits(terms.bias, min(terms.first_key + key, terms.last_key), LOG_BIAS_BITS);
    if (BIAS == VKF_STORED_F32 + 1) {
        return uintBitsToFloat(bits);
    }
    return BIAS == VKF_STORED_F16 + 1 ? unpackHalf2x16(bits).x : uintBitsToFloat(bits << 16);
}

// The score of a key with the caller's score function and ALiBi. `key` counts from first_key, so that it may be a
// compile-time constant, which needs no conversion to float.
//
// Where all keys that a row sees are far from its position, as under top-left alignment, slope times distance is far
// larger than the differences of scores. So fma rounds it together with the sum. A product and a difference are not
// enough: NVIDIA's compiler joins the difference with the product of the score and its scale, and rounds slope times
// distance alone.
float withSlope(const RowTerms terms, const uint key, const float s) {
    return HAS_ALIBI ? fma(-terms.slope, abs(terms.distance - float(keyPosition(key))),
                           SCORED(terms, terms.first_key + key, s))
                     : SCORED(terms, terms.first_key + key, s);
}

// The score of a key with ALiBi and bias; `key` counts from first_key.
float withTerms(const RowTerms terms, const uint key, const float s) {
    float sum = withSlope(terms, key, s);
    if (HAS_BIAS_FACTORS) { // a bias of -infinity makes the score -infinity, even with a factor of 0 or below
        float bias = biasOf(terms, key);
        // Rounded before the sum. With fma, equal products of a large bias would round up or down with the scores.
        precise float product = bias * (bias == MINUS_INFINITY ? 1.0 : terms.bias_factor);
        return sum + product;
    }
    return HAS_BIAS ? sum + biasOf(terms, key) : sum;
}

#endif
