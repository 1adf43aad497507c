// SPDX-License-Identifier: MIT
//
// Scores of the cooperative-matrix kernel: what they begin with, the products, and what becomes of them before the softmax
// sees them (softcap, ALiBi, bias, masks). An invocation finds its own by SCORE.
#ifndef VKF_MATRIX_SCORES_GLSL
#define VKF_MATRIX_SCORES_GLSL

// Of the elements of s, counted through: the row state, as m_row counts, and the column in the tile, less what the lane
// adds.
uint stateOf(const uint i) {
    return i / ELEMENTS / KEY_TILES * SLOTS + i % ELEMENTS / SLOT_ELEMENTS;
}

uint columnOf(const uint i) {
    return i / ELEMENTS % KEY_TILES * MATRIX_COLUMNS + elementPlace(i % ELEMENTS).y;
}

// What s begins with: nothing, or the terms, divided by the scale that s still waits for. Where rows of the bias begin
// with words, those of whole tiles are loaded two keys at a time, all at once.
void beginScores(const uint key_begin, const bool whole) {
    UNROLL for (uint i = 0; i < ROW_TILES * KEY_TILES; i++) {
        s_tile[i] = ResultMatrix(0.0);
    }
    if (!TERMS_FIRST) {
        return;
    }
    uvec2 place = lanePlace(lane);
    float unit = 1.0 / abs(params.score_scale);
    float bias[ROW_TILES * KEY_TILES * ELEMENTS];
    RowTerms terms[ROW_TILES * SLOTS];
    UNROLL for (uint i = 0; i < ROW_TILES * SLOTS; i++) {
        uint packed_row = first_row + i / SLOTS * MATRIX_ROWS + place.x + slotRow(i % SLOTS);
        terms[i] = rowTerms(item, queryHead(item, packed_row), slope_row[PACKED_HEADS == 1 ? 0 : i],
                            queryRow(packed_row), key_begin + place.y);
    }
    if (HAS_BIAS && IN_PAIRS && whole && bias_in_words) {
        UNROLL for (uint i = 0; i < ROW_TILES * KEY_TILES * ELEMENTS; i += 2) {
            vec2 pair = biasPair(biasWords(terms[stateOf(i)]), columnOf(i));
            bias[i] = pair.x;
            bias[i + 1] = pair.y;
        }
    } else if (HAS_BIAS) {
        UNROLL for (uint i = 0; i < ROW_TILES * KEY_TILES * ELEMENTS; i++) {
            bias[i] = biasOf(terms[stateOf(i)], columnOf(i));
        }
    }
    UNROLL for (uint i = 0; i < ROW_TILES * KEY_TILES * ELEMENTS; i++) {
        float s = HAS_BIAS ? bias[i] * (LOG2E * unit) : 0.0;
        terms[stateOf(i)].slope = slope_row[PACKED_HEADS == 1 ? 0 : stateOf(i)] * unit;
        s_tile[i / ELEMENTS][i % ELEMENTS] = withSlope(terms[stateOf(i)], columnOf(i), s);
    }
}

// s += q k^T, not scaled.
void computeProducts() {
    UNROLL for (uint d = 0; d < DIM_TILES; d++) {
        UNROLL for (uint key = 0; key < KEY_TILES; key++) {
            RightMatrix k_tile;
            coopMatLoad(k_tile, stage, key * MATRIX_COLUMNS * K_ROW + d * TILE_WORDS, K_ROW,
                        gl_CooperativeMatrixLayoutColumnMajor);
            UNROLL for (uint r = 0; r < ROW_TILES; r++) {
                s_tile[r * KEY_TILES + key] =
                    coopMatMulAdd(q_tile[r * DIM_TILES + d], k_tile, s_tile[r * KEY_TILES + key]);
            }
        }
    }
}

// The cap times tanh of the scores. Where all of a subgroup are near 0, as most are, it takes a third of the arithmetic.
void capScores() {
    float largest_square = 0.0;
    UNROLL for (uint i = 0; i < ROW_TILES * KEY_TILES; i++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            largest_square = max(largest_square, SCORE(i, e) * SCORE(i, e));
        }
    }
    float scale = abs(params.score_scale);
    bool near = largest_square * (scale * scale) < NEAR_ZERO * NEAR_ZERO && scale > LEAST_FOLDED_SCALE;
    if (subgroupAll(near)) {
        vec4 factors = params.softcap * nearTanhFactors(scale);
        UNROLL for (uint i = 0; i < ROW_TILES * KEY_TILES; i++) {
            UNROLL for (uint e = 0; e < ELEMENTS; e++) {
                SCORE(i, e) = nearTanh(factors, SCORE(i, e));
            }
        }
    } else {
        UNROLL for (uint i = 0; i < ROW_TILES * KEY_TILES; i++) {
            UNROLL for (uint e = 0; e < ELEMENTS; e++) {
                SCORE(i, e) = params.softcap * tanhAccurate(SCORE(i, e) * scale);
            }
        }
    }
}

void setTerms() {
    bias_in_words = TERMS_FIRST && isBiasInWords();
    uvec2 place = lanePlace(lane);
    UNROLL for (uint i = 0; i < (PACKED_HEADS == 1 ? 1 : ROW_TILES * SLOTS); i++) {
        slope_row[i] = slopeOf(queryHead(item, first_row + i / SLOTS * MATRIX_ROWS + place.x + slotRow(i % SLOTS)));
    }
}

void setDropout() {
    uvec2 place = lanePlace(lane);
    UNROLL for (uint i = 0; i < (HAS_DROPOUT ? ROW_TILES * SLOTS : 0); i++) {
        uint packed_row = first_row + i / SLOTS * MATRIX_ROWS + place.x + slotRow(i % SLOTS);
        dropout_row[i] = rowDropout(item, queryHead(item, packed_row), queryRow(packed_row));
    }
}

void addTerms(const uint key_begin) {
    uvec2 place = lanePlace(lane);
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        UNROLL for (uint slot = 0; slot < SLOTS; slot++) {
            uint packed_row = first_row + r * MATRIX_ROWS + place.x + slotRow(slot);
            RowTerms terms = rowTerms(item, queryHead(item, packed_row),
                                      slope_row[PACKED_HEADS == 1 ? 0 : r * SLOTS + slot], queryRow(packed_row),
                                      key_begin + place.y);
            UNROLL for (uint key = 0; key < KEY_TILES; key++) {
                UNROLL for (uint i = 0; i < SLOT_ELEMENTS; i++) {
                    uint e = slot * SLOT_ELEMENTS + i;
                    float s = SCORE(r * KEY_TILES + key, e) * (HAS_SOFTCAP ? 1.0 : abs(params.score_scale));
                    SCORE(r * KEY_TILES + key, e) =
                        withTerms(terms, key * MATRIX_COLUMNS + elementPlace(e).y, s);
                }
            }
        }
    }
}

// Those of keys that a mask drops which is asked key by key.
void dropUnkept(const uint key_begin) {
    uvec2 place = lanePlace(lane);
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        UNROLL for (uint slot = 0; slot < SLOTS; slot++) {
            uint packed_row = first_row + r * MATRIX_ROWS + place.x + slotRow(slot);
            RowKeep keep = rowKeep(item, queryHead(item, packed_row), queryRow(packed_row));
            UNROLL for (uint key = 0; key < KEY_TILES; key++) {
                UNROLL for (uint i = 0; i < SLOT_ELEMENTS; i++) {
                    uint e = slot * SLOT_ELEMENTS + i;
                    if (!keeps(keep, key_begin + place.y + key * MATRIX_COLUMNS + elementPlace(e).y)) {
                        SCORE(r * KEY_TILES + key, e) = MINUS_INFINITY;
                    }
                }
            }
        }
    }
}

void dropInvisible(const uint key_begin) {
    uvec2 place = lanePlace(lane);
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        uint open = BLOCKS_ARE_CUT ? openBlocks(first_row + r * MATRIX_ROWS, key_begin) : 0;
        UNROLL for (uint slot = 0; slot < SLOTS; slot++) {
            // The visible range, counted from the first key of this lane.
            uint packed_row = first_row + r * MATRIX_ROWS + place.x + slotRow(slot);
            ivec2 visible = visibleKeys(item, queryRow(packed_row)) - int(key_begin + place.y);
            uint count = uint(max(visible.y - visible.x, 0));
            UNROLL for (uint key = 0; key < KEY_TILES; key++) {
                bool closed = BLOCKS_ARE_CUT && !isOpen(open, key_begin, key_begin + key * MATRIX_COLUMNS);
                UNROLL for (uint i = 0; i < SLOT_ELEMENTS; i++) {
                    uint e = slot * SLOT_ELEMENTS + i;
                    int column = int(key * MATRIX_COLUMNS + elementPlace(e).y);
                    if (closed || uint(column - visible.x) >= count) {
                        SCORE(r * KEY_TILES + key, e) = MINUS_INFINITY;
                    }
                }
            }
        }
    }
}

#endif
