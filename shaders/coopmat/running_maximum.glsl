// SPDX-License-Identifier: MIT
//
// Line 9 of the algorithm (attention_coopmat.comp), its maximum, and the factors of lines 9 and 10.
//
// m does not move in each tile, as it does in the paper: it moves when a score passes it by RESCALE_THRESHOLD, so that
// o, most of the registers, is left alone in nearly all tiles.
//
// Needs: coopmat/state.glsl, coopmat/matrix_scores.glsl (ROW_SCORE), coopmat/deferred_scores.glsl,
// coopmat/matrix_registers.glsl or matrix_exchange.glsl.
// Provides: findTileMaximum, hasOutgrown, rescale.
#ifndef VKF_RUNNING_MAXIMUM_GLSL
#define VKF_RUNNING_MAXIMUM_GLSL

// tile_maximum of each row: the largest score, brought to units of log2. Without ALiBi only the largest score is
// brought there, because the exponent grows with the score.
void findTileMaximum() {
    UNROLL for (uint row = 0; row < OWN_ROWS; row++) {
        float x = ROW_SCORE(row, 0);
        if (HAS_ALIBI) {
            x = exponent(x, 0.0, row, 0);
        }
        UNROLL for (uint i = 1; i < LANE_KEYS; i++) {
            x = max(x, HAS_ALIBI ? exponent(ROW_SCORE(row, i), 0.0, row, i) : ROW_SCORE(row, i));
        }
        tile_maximum[row] = HAS_ALIBI ? x : exponent(x, 0.0, row, 0);
    }
}

// Whether any invocation of the subgroup has a score that passes its m by the threshold.
bool hasOutgrown() {
    bool grown = false;
    UNROLL for (uint row = 0; row < OWN_ROWS; row++) {
        grown = grown || tile_maximum[row] > m_row[row] + RESCALE_THRESHOLD;
    }
    return subgroupAny(grown);
}

// Raises m to the rows' maxima, and brings l and o to the new m. m is a whole number, so that factors are powers of
// two: neither they nor a lagging m change how p is rounded to 16 bits.
void rescale() {
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        UNROLL for (uint slot = 0; slot < SLOTS; slot++) {
            uint i = r * SLOTS + slot;
            // A NaN is not greater, so m ignores it. Its row is lost, but the loop that calls this must end.
            float reached = tile_maximum[i] > m_row[i] ? tile_maximum[i] : m_row[i];
            float m = ceil(maxOverColumns(reached));
            float factor = exp2(m_row[i] - m);
            m_row[i] = m;
            l_row[i] *= factor;
            row_factor[slot] = factor;
        }
        makeFactors();
        UNROLL for (uint c = 0; c < VALUE_TILES; c++) {
            o_tile[r * VALUE_TILES + c] *= factors;
        }
    }
}

#endif
