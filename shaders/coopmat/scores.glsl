// SPDX-License-Identifier: MIT
//
// Line 8 of the algorithm (attention_coopmat.comp): the products, and the steps from a product to a score (softcap,
// ALiBi, bias) that come before the softmax. deferred_scores.glsl has the steps that are deferred to the exponent.
//
// The additive bias of the cooperative-matrix kernel. The keys of an invocation are consecutive
// (matrix/matrix_tile.glsl), so it needs LANE_KEYS consecutive elements of each bias row. It loads them in the largest
// of these units that the rows in memory allow:
//   - vectors of up to 16 bytes,
//   - words of 4 bytes,
//   - single elements.
//
// The bias of the next tile is in flight while line 10 uses this tile.
#ifndef VKF_COOPMAT_SCORES_GLSL
#define VKF_COOPMAT_SCORES_GLSL

// Score number i of the scores that an invocation has in a row.
#define ROW_SCORE(row, i)                                                                                              \
    SCORE((row) / FRAGMENT_ROWS * KEY_MATRICES + (i) / FRAGMENT_ROW_ELEMENTS,                                          \
          (row) % FRAGMENT_ROWS * FRAGMENT_ROW_ELEMENTS + (i) % FRAGMENT_ROW_ELEMENTS)

// Whether full or partial tiles look at the bias.
#define NEEDS_BIAS(full) (HAS_BIAS && !(BIAS_IS_MASK && (full)))

const bool BIAS_IN_WORDS = LANE_KEYS * BIAS_BITS % 32 == 0;
const uint VECTOR_WORDS = BIAS_WORDS % 4 == 0 ? 4 : BIAS_WORDS % 2 == 0 ? 2 : 1;

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer BiasWords {
    uint at[];
};

layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer BiasVec2s {
    uvec2 at[];
};

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer BiasVec4s {
    uvec4 at[];
};

// The factor of an element of the bias: the bias factor of the head of the invocation's row `row`. For a bias of
// -infinity the factor is 1, so that no bias factor makes the key visible.
#define BIAS_FACTOR(bias, row) ((bias) == MINUS_INFINITY ? 1.0 : factor_row[PACKED_HEADS == 1 ? 0 : (row)])

// Sets factor_row, for the invocation's rows.
void setBiasFactors() {
    uvec2 position = lanePosition(lane);
    UNROLL for (uint i = 0; i < (ADDS_BIAS && HAS_BIAS_FACTORS ? SLOPES : 0); i++) {
        factor_row[i] = biasFactorOf(queryHead(item, first_row + position.x + laneRow(i)));
    }
}

void beginBias(const uint thread) {
    if (!HAS_BIAS) {
        return;
    }
    CallTable table = CallTableAt(optionalInputs()).table;
    uint bits = table.bias_stride[0].x | table.bias_stride[1].x | table.bias_stride[2].x | table.bias.x << 3;
    bias_in_words = BIAS_IN_WORDS && !HAS_CHOSEN_KEYS && (bits & 31u) == 0;
    bias_in_vectors = BIAS_IN_WORDS && !HAS_CHOSEN_KEYS && (bits & (VECTOR_WORDS * 32 - 1)) == 0;
    for (uint i = thread; i < TILE_ROWS; i += WORKGROUP_SIZE) {
        uint packed_row = min(item.row_begin + i, packedRows(item) - 1);
        BroadcastRow row = broadcastRow(table.bias, table.bias_stride, table.bias_repeats, item.batch,
                                        queryHead(item, packed_row), queryRow(packed_row), LOG_BIAS_BITS);
        bias_rows[i] = add64(row.address, uvec2(row.first * (BIAS_BITS / 8), 0));
    }
}

// Address of key 0 in the bias row of the invocation's row i.
uvec2 biasRow(const uint i) {
    return bias_rows[subgroup * SUBGROUP_STRIDE + lanePosition(lane).x + laneRow(i)];
}

void fetchBiasVectors(const uint key) {
    uvec2 before = multiply64(key, BIAS_BITS / 8);
    UNROLL for (uint i = 0; i < OWN_ROWS; i++) {
        uvec2 row = add64(biasRow(i), before);
        UNROLL for (uint vector = 0; vector < BIAS_WORDS / VECTOR_WORDS; vector++) {
            uvec4 words = VECTOR_WORDS == 4   ? BiasVec4s(row).at[vector]
                          : VECTOR_WORDS == 2 ? BiasVec2s(row).at[vector].xyxy
                                              : uvec4(BiasWords(row).at[vector]);
            UNROLL for (uint word = 0; word < VECTOR_WORDS; word++) {
                fetched_bias[i * BIAS_WORDS + vector * VECTOR_WORDS + word] = words[word];
            }
        }
    }
}

void fetchBiasElements(const uint key) {
    UNROLL for (uint i = 0; i < OWN_ROWS; i++) {
        uvec2 address = biasRow(i);
        BroadcastRow row = BroadcastRow(uvec2(address.x & ~3u, address.y), (address.x & 3u) * 8 / BIAS_BITS);
        UNROLL for (uint word = 0; word < BIAS_WORDS; word++) {
            uint bits = 0;
            UNROLL for (uint shift = 0; shift < 32; shift += BIAS_BITS) { // keys past the last one get its bias
                uint of_key = key + (word * 32 + shift) / BIAS_BITS;
                of_key = HAS_CHOSEN_KEYS ? listedKey(of_key) : min(of_key, item.keys - 1);
                bits |= (broadcastBits(row, of_key, LOG_BIAS_BITS) & (0xffffffffu >> (32 - BIAS_BITS))) << shift;
            }
            fetched_bias[i * BIAS_WORDS + word] = bits;
        }
    }
}

// Full tiles are read only in vectors (tile_walk.glsl). Code for the other two ways would take registers here
// (docs/kernel_rules.md, "What costs registers or moves"). For partial tiles each branch encloses a complete loop, so
// that all its loads are in flight at once.
void fetchBias(const uint key_begin, const bool full) {
    uint key = key_begin + laneKey(lane);
    bool exists = key_begin + TILE_KEYS <= item.keys;
    if (full || (exists && bias_in_vectors)) {
        fetchBiasVectors(key);
    } else if (exists && bias_in_words) {
        uvec2 before = multiply64(key, BIAS_BITS / 8);
        UNROLL for (uint i = 0; i < OWN_ROWS * BIAS_WORDS; i++) {
            fetched_bias[i] = BiasWords(add64(biasRow(i / BIAS_WORDS), before)).at[i % BIAS_WORDS];
        }
    } else {
        fetchBiasElements(key);
    }
}

// The bias of a row and a key; `key` counts from the lane's first key.
float fetchedBias(const uint row, const uint key) {
    uint bits = fetched_bias[row * BIAS_WORDS + key * BIAS_BITS / 32];
    if (BIAS == VKF_STORED_F32 + 1) {
        return uintBitsToFloat(bits);
    }
    if (BIAS == VKF_STORED_F16 + 1) {
        return unpackHalf2x16(bits)[key % 2];
    }
    return uintBitsToFloat(key % 2 == 0 ? bits << 16 : bits & 0xffff0000u);
}

void beginScores() {
    UNROLL for (uint i = 0; i < ROW_MATRICES * KEY_MATRICES; i++) {
        s_matrix[i] = ResultMatrix(0.0);
    }
}

// s += q k^T, without the scale, for matrices of rows from `first_matrix` on.
void multiplyHalves(const uint first_matrix) {
    UNROLL for (uint d = 0; d < DIM_MATRICES; d++) {
        LeftMatrix q_slice[ROW_MATRICES];
        UNROLL for (uint r = first_matrix; r < ROW_MATRICES; r++) {
            if (d < HELD_Q_SLICES) {
                q_slice[r] = q_matrix[r * HELD_Q_SLICES + d];
            } else {
                coopMatLoad(q_slice[r], stage, SHARED_QUERIES(r, d), Q_ROW, gl_CooperativeMatrixLayoutRowMajor);
            }
        }
        UNROLL for (uint key = 0; key < KEY_MATRICES; key++) {
            RightMatrix k_matrix;
            coopMatLoad(k_matrix, stage, key * MATRIX_COLUMNS * K_ROW + d * SLICE_WORDS, K_ROW,
                        gl_CooperativeMatrixLayoutColumnMajor);
            UNROLL for (uint r = first_matrix; r < ROW_MATRICES; r++) {
                s_matrix[r * KEY_MATRICES + key] =
                    coopMatMulAdd(q_slice[r], k_matrix, s_matrix[r * KEY_MATRICES + key]);
            }
        }
    }
}

// The magnitude of a score as bits. Compared by their bits, a NaN is the largest magnitude. max() of floats may return
// the NaN, and the next max() then forgets it and all magnitudes before it. The forgotten magnitudes may belong to rows
// that do not see the source of the NaN.
#define MAGNITUDE_BITS(score) (floatBitsToUint(score) & 0x7fffffffu)

// Whether the softcap of scores up to this magnitude can be deferred: the polynomial of nearTanhRatio holds for them.
bool isNearZero(const uint magnitude_bits) {
    float magnitude = uintBitsToFloat(min(magnitude_bits, 0x7f800000u)); // a NaN counts as infinite
    float scale = scoreScale();
    return magnitude * scale < NEAR_ZERO && scale > MIN_POLYNOMIAL_SCALE && scale < MAX_POLYNOMIAL_SCALE;
}

// Conservative test: can any score exceed m by the threshold? The test assumes that a row's largest score stands at the
// nearest key. Under a softcap it also assumes that all scores are near 0. Where they are not, `are_small` is false and
// the function returns true.
bool mayExceedThreshold(out bool are_small) {
    uint largest_magnitude = 0;
    bool exceeds = false;
    UNROLL for (uint row = 0; row < OWN_ROWS; row++) {
        float x = CAPS_DEFERRED ? abs(ROW_SCORE(row, 0)) : ROW_SCORE(row, 0);
        UNROLL for (uint i = 1; i < LANE_KEYS; i++) {
            x = max(x, CAPS_DEFERRED ? abs(ROW_SCORE(row, i)) : ROW_SCORE(row, i));
        }
        largest_magnitude = max(largest_magnitude, MAGNITUDE_BITS(x));
        bool passes;
        if (HAS_ALIBI) { // m inside both exponents would take registers, and a tenth of the time
            x = max(exponent(x, 0.0, row, 0), exponent(x, 0.0, row, LANE_KEYS - 1));
            passes = x > m_row[row] + rescaleThreshold();
        } else {
            passes = exponent(x, m_row[row], row, 0) > rescaleThreshold();
        }
        exceeds = exceeds || passes;
    }
    are_small = !CAPS_DEFERRED || isNearZero(largest_magnitude);
    return exceeds || !are_small;
}

// Whether all scores of the invocation are near 0.
bool areNearZero() {
    uint largest_magnitude = 0;
    UNROLL for (uint i = 0; i < ROW_MATRICES * KEY_MATRICES; i++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            largest_magnitude = max(largest_magnitude, MAGNITUDE_BITS(SCORE(i, e)));
        }
    }
    return isNearZero(largest_magnitude);
}

// Applies the softcap in place, unless all scores of the subgroup are near 0.
void capUnless(bool are_small) {
    IF_AS_LOOP (!subgroupAll(are_small)) {
        UNROLL for (uint i = 0; i < ROW_MATRICES * KEY_MATRICES; i++) {
            UNROLL for (uint e = 0; e < ELEMENTS; e++) {
                SCORE(i, e) = softcap() * tanhAccurate(SCORE(i, e) * scoreScale());
            }
        }
        deferred = IDENTITY_FACTORS;
        are_small = true;
    }
}

// Sets slope_row, for the invocation's rows.
void setSlopes() {
    uvec2 position = lanePosition(lane);
    UNROLL for (uint i = 0; i < (HAS_ALIBI ? SLOPES : 0); i++) {
        slope_row[i] = slopeOf(queryHead(item, first_row + position.x + laneRow(i)));
    }
}

// Sets dropout_row, for the invocation's rows.
void setDropout() {
    uvec2 position = lanePosition(lane);
    UNROLL for (uint i = 0; i < (HAS_DROPOUT ? OWN_ROWS : 0); i++) {
        uint packed_row = first_row + position.x + laneRow(i);
        dropout_row[i] = rowDropout(item, queryHead(item, packed_row), queryRow(packed_row));
    }
}

// Scales and caps scores in place, and applies the caller's score function. Only kernels with functions call it.
void applyScore() {
    uvec2 position = lanePosition(lane);
    UNROLL for (uint row = 0; row < OWN_ROWS; row++) {
        uint packed_row = first_row + position.x + laneRow(row);
        DECLARE_ROW_PAIR(own_row)
        SET_ROW_PAIR(own_row, item, queryHead(item, packed_row), queryRow(packed_row))
        UNROLL for (uint i = 0; i < LANE_KEYS; i++) {
            float s = ROW_SCORE(row, i);
            s *= HAS_SOFTCAP ? nearTanhRatio(deferred, s) : scoreScale();
            ROW_SCORE(row, i) = SCORED(own_row, scoreKey(i), s);
        }
    }
    deferred = IDENTITY_FACTORS;
}

// Finishes scores in place and adds the bias. The products must not be accumulated onto the bias. Matrix
// units truncate a sum once for each step of the depth, relative to the size of the sum. A bias may be larger than the
// products, so they would lose bits.
void addBias() {
    UNROLL for (uint i = 0; i < ROW_MATRICES * KEY_MATRICES; i++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            float scale = UNLESS_SCORED(HAS_SOFTCAP ? nearTanhRatio(deferred, SCORE(i, e)) : scoreScale());
            const uint row = rowOf(i, e);
            precise float bias = fetchedBias(row, elementKey(i % KEY_MATRICES, e));
            if (HAS_BIAS_FACTORS) {
                bias *= BIAS_FACTOR(bias, row);
            }
            SCORE(i, e) = fma(SCORE(i, e), scale, bias);
        }
    }
    deferred = IDENTITY_FACTORS;
}

// ALiBi: sets slope_step for the tile. In a tile that lies on both sides of a row's position, scores get their terms in
// place. A full tile never lies like this (tile_walk.glsl).
void stageSlopes(const bool full) {
    bool before = distanceTo(item, tile_begin + TILE_KEYS - 1, queryRow(first_row)) <= 0;
    bool after = distanceTo(item, tile_begin, queryRow(first_row + SUBGROUP_ROWS - 1)) >= 0;
    UNROLL for (uint i = 0; i < SLOPES; i++) {
        slope_step[i] = before ? slope_row[i] : -slope_row[i];
    }
    bool one_sided = before || after;
    IF_AS_LOOP (!full && !subgroupAll(one_sided)) {
        UNROLL for (uint i = 0; i < ROW_MATRICES * KEY_MATRICES; i++) {
            UNROLL for (uint e = 0; e < ELEMENTS; e++) {
                const uint row = rowOf(i, e);
                uint slope = PACKED_HEADS == 1 ? 0 : row;
                float term = exponent(0.0, 0.0, row, elementKey(i % KEY_MATRICES, e));
                float x = exponent(SCORE(i, e), term, row, elementKey(i % KEY_MATRICES, e));
                SCORE(i, e) = x - (slope_row[slope] < 0.0 ? -abs(term) : abs(term));
            }
        }
        deferred = IDENTITY_FACTORS;
        UNROLL for (uint i = 0; i < SLOPES; i++) {
            slope_step[i] = 0.0;
        }
        one_sided = true;
    }
}

#endif
