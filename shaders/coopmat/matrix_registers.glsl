// SPDX-License-Identifier: MIT
//
// Elements of matrices where the driver's element layout is known: an invocation reads and writes its own in place.
// Results and left operands of one shape have the same layout here, with as many columns as depths.
//
// Needs: coopmat/state.glsl, coopmat/deferred_scores.glsl (exponent, takeProbability).
// Provides: SCORE, takeScores, makeProbabilities, makeFactors, as matrix_exchange.glsl does.
#ifndef VKF_MATRIX_REGISTERS_GLSL
#define VKF_MATRIX_REGISTERS_GLSL

#define SCORE(matrix, element) s_tile[matrix][element]

// Nothing to do: scores are where the products left them.
void takeScores() {}

// Rounds to nearest.
Half roundToHalf(const float p) {
    return Half(MATRICES_ARE_BF16 ? uintBitsToFloat(BF16_BITS(p) & 0xffff0000u) : p);
}

// Line 9 of the algorithm: p_tile of one depth; l_i takes in its probabilities.
void makeProbabilities(const uint depth) {
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            const uint row = r * SLOTS + e / SLOT_ELEMENTS;
            const uint key = elementKey(depth, e);
            float x = exponent(SCORE(r * KEY_TILES + depth, e), m_row[row], row, key);
            p_tile[r * KEY_DEPTHS + depth][e] = roundToHalf(takeProbability(x, row, key));
        }
    }
}

// row_factor in all columns of its rows.
void makeFactors() {
    UNROLL for (uint e = 0; e < ELEMENTS; e++) {
        factors[e] = row_factor[e / SLOT_ELEMENTS];
    }
}

#endif
