// SPDX-License-Identifier: MIT
//
// Access to matrix elements where the driver's element layout is known: an invocation reads and writes its own elements
// in place. Results and left operands of one shape have the same element layout here, with as many columns as depths.
//
// Needs: coopmat/state.glsl, coopmat/deferred_scores.glsl (exponent, takeProbability).
// Provides: SCORE, CUT_FACTOR, takeScores, makeProbabilities, makeFactors, as matrix_exchange.glsl does.
#ifndef VKF_MATRIX_REGISTERS_GLSL
#define VKF_MATRIX_REGISTERS_GLSL

#define SCORE(matrix, element) s_tile[matrix][element]

// Does nothing: the products left the scores where SCORE finds them.
void takeScores() {}

#ifdef VKF_FP32_PARTS // parts_products.glsl makes probabilities in parts
#define CUT_FACTOR 1.0
#else
// bf16 probabilities are cut to their upper 16 bits. To round them takes an instruction each, and 3 % of the time. Cut
// numbers are too small, by 1 / (512 log 2) of themselves on average. CUT_FACTOR makes up for that: probabilities are
// larger by it before they are cut (rescale), l includes them as they are then, and normalize multiplies o by it. Powers
// of two stay exact. An error is at most 1.28 times as large as after rounding to nearest.
#define CUT_FACTOR (MATRICES_ARE_BF16 ? 1.0028178 : 1.0)

// A probability as an element of a matrix. fp16 is rounded to nearest.
Half halfOfProbability(const float p) {
    return MATRICES_ARE_BF16 ? UPPER_HALF(floatBitsToUint(p)) : Half(p);
}

// Line 9 of the algorithm: makes p_tile for one depth, and adds its probabilities to l_i.
void makeProbabilities(const uint depth, const uint first_matrix) {
    UNROLL for (uint r = first_matrix; r < ROW_TILES; r++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            const uint row = r * SLOTS + e / SLOT_ELEMENTS;
            const uint key = elementKey(depth, e);
            float x = exponent(SCORE(r * KEY_TILES + depth, e), m_row[row], row, key);
            p_tile[r * KEY_DEPTHS + depth][e] = halfOfProbability(takeProbability(x, row, key));
        }
    }
}

#endif

// Sets `factors`: each row_factor in all columns of its row.
void makeFactors() {
    UNROLL for (uint e = 0; e < ELEMENTS; e++) {
        factors[e] = row_factor[e / SLOT_ELEMENTS];
    }
}

#endif
