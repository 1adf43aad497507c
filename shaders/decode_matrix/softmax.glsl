// SPDX-License-Identifier: MIT
//
// Line 9 of the algorithm (attention_decode_matrix.comp), and the factor of line 10.
//
// Needs: decode_matrix/globals.glsl, decode_matrix/turn.glsl (maxOverKeys), scores/score_terms.glsl
// (deferredScale), scores/dropout.glsl.
// Provides: updateSoftmax.
#ifndef VKF_DECODE_MATRIX_SOFTMAX_GLSL
#define VKF_DECODE_MATRIX_SOFTMAX_GLSL

// Sets tile_maximum: the row maxima of the present scores, rounded up to whole numbers of log2. Shuffles
// treat four rows at once. A loop with shuffles in it stays a loop, and the matrices that it indexes would live in
// memory. See docs/kernel_rules.md, "What else keeps arrays of matrices in memory".
void findTileMaximum() {
    UNROLL for (uint i = 0; i < QUERY_ROW_FOURS; i++) {
        tile_maximum[i] = vec4(BEFORE_ANY_KEY);
    }
    UNROLL for (uint i = 0; i < ROW_TILES * ELEMENTS; i++) {
        const uint query_row = queryOf(i / ELEMENTS, i % ELEMENTS);
        if (query_row < LANE_QUERY_ROWS) {
            tile_maximum[query_row / 4][query_row % 4] =
                max(tile_maximum[query_row / 4][query_row % 4], s_tile[i / ELEMENTS][i % ELEMENTS]);
        }
    }
    UNROLL for (uint i = 0; i < QUERY_ROW_FOURS; i++) {
        tile_maximum[i] = wholeUnits(maxOverKeys(tile_maximum[i]) * deferredScale());
    }
}

// p = exp(s - m) overwrites s. In rows that never exist, p is 0. m, l and o change with it. l includes p as it is before
// rounding and dropout.
void updateSoftmax(const uint key_begin) {
    findTileMaximum();
    UNROLL for (uint query_row = 0; query_row < LANE_QUERY_ROWS; query_row++) {
        float m = max(m_row[query_row], tile_maximum[query_row / 4][query_row % 4]);
        row_factor[query_row] = power(m_row[query_row] - m);
        m_row[query_row] = m;
        l_row[query_row] *= row_factor[query_row];
    }
    UNROLL for (uint i = 0; i < ROW_TILES * ELEMENTS; i++) {
        const uint query_row = queryOf(i / ELEMENTS, i % ELEMENTS);
        float p = 0.0;
        if (query_row < LANE_QUERY_ROWS) {
            p = power(fma(s_tile[i / ELEMENTS][i % ELEMENTS], deferredScale(), -m_row[query_row]));
            l_row[query_row] += p;
            if (HAS_DROPOUT && !staysIn(dropout_row[HAS_DROPOUT ? query_row : 0],
                                        key_begin + fragmentKey(i % ELEMENTS / ROW_ELEMENTS))) {
                p = 0.0;
            }
        }
        s_tile[i / ELEMENTS][i % ELEMENTS] = p;
    }
    scaleOutput();
}

#endif
