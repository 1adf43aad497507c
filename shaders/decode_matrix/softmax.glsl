// SPDX-License-Identifier: MIT
//
// Line 9 of the algorithm (attention_decode_matrix.comp), and the factor of line 10.
//
// Needs: decode_matrix/state.glsl, decode_matrix/turn.glsl (maxOverKeys), scores/score_terms.glsl
// (deferredScale), scores/dropout.glsl.
// Provides: updateSoftmax.
#ifndef VKF_DECODE_MATRIX_SOFTMAX_GLSL
#define VKF_DECODE_MATRIX_SOFTMAX_GLSL

// Sets tile_maximum: the row maxima of the present scores, rounded up to whole numbers of log2. Shuffles
// treat four rows at once. A loop with shuffles in it stays a loop, and the matrices that it indexes would live in
// memory. See docs/tuning.md, "What else keeps arrays of matrices in memory".
void findTileMaximum() {
    UNROLL for (uint i = 0; i < STATE_FOURS; i++) {
        tile_maximum[i] = vec4(BEFORE_ANY_KEY);
    }
    UNROLL for (uint i = 0; i < ROW_TILES * ELEMENTS; i++) {
        const uint state = stateOf(i / ELEMENTS, i % ELEMENTS);
        if (state < STATES) {
            tile_maximum[state / 4][state % 4] =
                max(tile_maximum[state / 4][state % 4], s_tile[i / ELEMENTS][i % ELEMENTS]);
        }
    }
    UNROLL for (uint i = 0; i < STATE_FOURS; i++) {
        tile_maximum[i] = wholeUnits(maxOverKeys(tile_maximum[i]) * deferredScale());
    }
}

// p = exp(s - m) overwrites s. In rows that never exist, p is 0. m, l and o change with it. l includes p as it is before
// rounding and dropout.
void updateSoftmax(const uint key_begin) {
    findTileMaximum();
    UNROLL for (uint state = 0; state < STATES; state++) {
        float m = max(m_row[state], tile_maximum[state / 4][state % 4]);
        row_factor[state] = power(m_row[state] - m);
        m_row[state] = m;
        l_row[state] *= row_factor[state];
    }
    UNROLL for (uint i = 0; i < ROW_TILES * ELEMENTS; i++) {
        const uint state = stateOf(i / ELEMENTS, i % ELEMENTS);
        float p = 0.0;
        if (state < STATES) {
            p = power(fma(s_tile[i / ELEMENTS][i % ELEMENTS], deferredScale(), -m_row[state]));
            l_row[state] += p;
            if (HAS_DROPOUT && !staysIn(dropout_row[HAS_DROPOUT ? state : 0],
                                        key_begin + fragmentKey(i % ELEMENTS / ROW_ELEMENTS))) {
                p = 0.0;
            }
        }
        s_tile[i / ELEMENTS][i % ELEMENTS] = p;
    }
    scaleOutput();
}

#endif
