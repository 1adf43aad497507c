// SPDX-License-Identifier: MIT
//
// Access to matrix elements where the driver's element layout is known: an invocation reads and writes its own elements
// in place. Results and left operands of one shape have the same element layout here, with as many columns as the depth
// has.
#ifndef VKF_ELEMENTS_IN_REGISTERS_GLSL
#define VKF_ELEMENTS_IN_REGISTERS_GLSL

#define SCORE(matrix, element) s_matrix[matrix][element]

// Does nothing: the products left the scores where SCORE finds them.
void takeScores() {}

// Rounds a probability to nearest.
Half roundToHalf(const float p) {
    return MATRICES_ARE_BF16 ? UPPER_HALF(BF16_BITS(p)) : Half(p);
}

// Line 9 of the algorithm: makes p_matrix for one slice of keys, and adds its probabilities to l_i.
void makeHalfProbabilities(const uint slice, const uint first_matrix) {
    UNROLL for (uint r = first_matrix; r < ROW_MATRICES; r++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            const uint row = r * FRAGMENT_ROWS + e / FRAGMENT_ROW_ELEMENTS;
            const uint key = elementKey(slice, e);
            float x = exponent(SCORE(r * KEY_MATRICES + slice, e), m_row[row], row, key);
            p_matrix[r * KEY_SLICES + slice][e] = roundToHalf(takeProbability(x, row, key));
        }
    }
}

// Sets `factors`: each row_factor in all columns of its row.
void makeFactors() {
    UNROLL for (uint e = 0; e < ELEMENTS; e++) {
        factors[e] = row_factor[e / FRAGMENT_ROW_ELEMENTS];
    }
}

#endif
