// SPDX-License-Identifier: MIT
//
// Line 8 of the algorithm (attention_coopmat.comp): the products, and the steps from a product to a score (softcap,
// ALiBi, bias) that come before the softmax. deferred_scores.glsl has the steps that are deferred to the exponent.
#ifndef VKF_COOPMAT_SCORES_GLSL
#define VKF_COOPMAT_SCORES_GLSL

// Score number i of the scores that an invocation has in a row.
#define ROW_SCORE(row, i)                                                                                              \
    SCORE((row) / FRAGMENT_ROWS * KEY_TILES + (i) / FRAGMENT_ROW_ELEMENTS,                                             \
          (row) % FRAGMENT_ROWS * FRAGMENT_ROW_ELEMENTS + (i) % FRAGMENT_ROW_ELEMENTS)

// The size of a score as bits. Compared by their bits, a NaN is the largest size. max() of floats may return the NaN,
// and the next max() then forgets it and all sizes before it. The forgotten sizes may belong to rows that do not see
// the source of the NaN.
#define SIZE_BITS(score) (floatBitsToUint(score) & 0x7fffffffu)

// Whether the softcap of scores up to this size can be deferred: the polynomial of nearTanhRatio holds for them.
bool isNearZero(const uint size_bits) {
    float size = uintBitsToFloat(min(size_bits, 0x7f800000u)); // a NaN counts as infinite
    float scale = scoreScale();
    return size * scale < NEAR_ZERO && scale > LEAST_FOLDED_SCALE && scale < MOST_FOLDED_SCALE;
}

// Conservative test: can any score exceed m by the threshold? The test assumes that a row's largest score stands at the
// nearest key. Under a softcap it also assumes that all scores are near 0. Where they are not, `near` is false and the
// function returns true.
bool mayOutgrow(out bool near) {
    uint largest_size = 0;
    bool grown = false;
    UNROLL for (uint row = 0; row < OWN_ROWS; row++) {
        float x = CAPS_DEFERRED ? abs(ROW_SCORE(row, 0)) : ROW_SCORE(row, 0);
        UNROLL for (uint i = 1; i < LANE_KEYS; i++) {
            x = max(x, CAPS_DEFERRED ? abs(ROW_SCORE(row, i)) : ROW_SCORE(row, i));
        }
        largest_size = max(largest_size, SIZE_BITS(x));
        bool passes;
        if (HAS_ALIBI) { // m inside both exponents would take registers, and a tenth of the time
            x = max(exponent(x, 0.0, row, 0), exponent(x, 0.0, row, LANE_KEYS - 1));
            passes = x > m_row[row] + rescaleThreshold();
        } else {
            passes = exponent(x, m_row[row], row, 0) > rescaleThreshold();
        }
        grown = grown || passes;
    }
    near = !CAPS_DEFERRED || isNearZero(largest_size);
    return grown || !near;
}

// Whether all scores of the invocation are near 0.
bool areNearZero() {
    uint largest_size = 0;
    UNROLL for (uint i = 0; i < ROW_TILES * KEY_TILES; i++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            largest_size = max(largest_size, SIZE_BITS(SCORE(i, e)));
        }
    }
    return isNearZero(largest_size);
}

// Applies the softcap in place, unless all scores of the subgroup are near 0.
void capUnless(bool near) {
    IF_AS_LOOP (!subgroupAll(near)) {
        UNROLL for (uint i = 0; i < ROW_TILES * KEY_TILES; i++) {
            UNROLL for (uint e = 0; e < ELEMENTS; e++) {
                SCORE(i, e) = softcap() * tanhAccurate(SCORE(i, e) * scoreScale());
            }
        }
        deferred = SETTLED;
        near = true;
    }
}

// Sets slope_row, for the invocation's rows.
void setSlopes() {
    uvec2 place = lanePlace(lane);
    UNROLL for (uint i = 0; i < (HAS_ALIBI ? SLOPES : 0); i++) {
        slope_row[i] = slopeOf(queryHead(item, first_row + place.x + laneRow(i)));
    }
}

// Sets dropout_row, for the invocation's rows.
void setDropout() {
    uvec2 place = lanePlace(lane);
    UNROLL for (uint i = 0; i < (HAS_DROPOUT ? OWN_ROWS : 0); i++) {
        uint packed_row = first_row + place.x + laneRow(i);
        dropout_row[i] = rowDropout(item, queryHead(item, packed_row), queryRow(packed_row));
    }
}

// Finishes scores in place and adds the bias. The products must not be accumulated onto the bias. Matrix
// units truncate a sum once for each step of the depth, relative to the size of the sum. A bias may be larger than the
// products, so they would lose bits.
void addBias() {
    UNROLL for (uint i = 0; i < ROW_TILES * KEY_TILES; i++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            float scale = HAS_SOFTCAP ? nearTanhRatio(deferred, SCORE(i, e)) : scoreScale();
            const uint row = rowOf(i, e);
            precise float bias = fetchedBias(row, elementKey(i % KEY_TILES, e));
            if (HAS_BIAS_FACTORS) {
                bias *= BIAS_FACTOR(bias, row);
            }
            SCORE(i, e) = fma(SCORE(i, e), scale, bias);
        }
    }
    deferred = SETTLED;
}

// ALiBi: sets slope_step for the tile. In a tile that lies on both sides of a row's position, scores get their terms in
// place. A full tile never lies like this (tile_walk.glsl).
void placeSlopes(const bool full) {
    bool before = distanceTo(item, tile_begin + TILE_KEYS - 1, queryRow(first_row)) <= 0;
    bool after = distanceTo(item, tile_begin, queryRow(first_row + SUBGROUP_ROWS - 1)) >= 0;
    UNROLL for (uint i = 0; i < SLOPES; i++) {
        slope_step[i] = before ? slope_row[i] : -slope_row[i];
    }
    bool settled = before || after;
    IF_AS_LOOP (!full && !subgroupAll(settled)) {
        UNROLL for (uint i = 0; i < ROW_TILES * KEY_TILES; i++) {
            UNROLL for (uint e = 0; e < ELEMENTS; e++) {
                const uint row = rowOf(i, e);
                uint slope = PACKED_HEADS == 1 ? 0 : row;
                float term = exponent(0.0, 0.0, row, elementKey(i % KEY_TILES, e));
                float x = exponent(SCORE(i, e), term, row, elementKey(i % KEY_TILES, e));
                SCORE(i, e) = x - (slope_row[slope] < 0.0 ? -abs(term) : abs(term));
            }
        }
        deferred = SETTLED;
        UNROLL for (uint i = 0; i < SLOPES; i++) {
            slope_step[i] = 0.0;
        }
        settled = true;
    }
}

#endif
