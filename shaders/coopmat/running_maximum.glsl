// SPDX-License-Identifier: MIT
//
// Line 9 of the algorithm (attention_coopmat.comp): the running maximum m, and the factors of lines 9 and 10.
//
// In the paper m moves in each tile. Here m moves only when a score exceeds it by more than RESCALE_THRESHOLD. So
// nearly all tiles leave o unchanged, and o takes most of the registers.
//
// Needs: coopmat/globals.glsl, coopmat/matrix_scores.glsl (ROW_SCORE), coopmat/deferred_scores.glsl,
// coopmat/elements_in_registers.glsl or elements_via_shared.glsl.
// Provides: findTileMaximum, hasOutgrown, rescale.
#ifndef VKF_RUNNING_MAXIMUM_GLSL
#define VKF_RUNNING_MAXIMUM_GLSL

// Sets the tile maximum of each row, in the unit of scores, over this invocation's scores. The exponent grows with the
// score, so without ALiBi only the largest score has to be finished.
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

// Whether a score of any invocation of the subgroup exceeds its m by more than the threshold.
bool hasOutgrown() {
    bool grown = false;
    UNROLL for (uint row = 0; row < OWN_ROWS; row++) {
        grown = grown || tile_maximum[row] > m_row[row] + rescaleThreshold();
    }
    return subgroupAny(grown);
}

// Raises m to the rows' maxima, rounded up to whole numbers of log2, and scales l and o to the new m. Whole numbers make
// all factors powers of two. So neither a factor nor an m below the running maximum changes how p is rounded to 16 bits.
void rescale() {
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        UNROLL for (uint fragment_row = 0; fragment_row < FRAGMENT_ROWS; fragment_row++) {
            uint i = r * FRAGMENT_ROWS + fragment_row;
            // A comparison with a NaN is false, so m ignores it. The result of its row is lost, but the loop that calls
            // this must end.
            float reached = tile_maximum[i] > m_row[i] ? tile_maximum[i] : m_row[i];
            float m = wholeUnits(maxOverColumns(reached));
            float factor = power(m_row[i] - m);
            m_row[i] = m;
            l_row[i] *= factor;
            row_factor[fragment_row] = factor;
        }
        makeFactors();
        UNROLL for (uint c = 0; c < VALUE_TILES; c++) {
            o_tile[r * VALUE_TILES + c] *= factors;
        }
    }
}

#endif
