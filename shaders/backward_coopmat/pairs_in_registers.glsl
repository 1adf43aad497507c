// SPDX-License-Identifier: MIT
//
// Access to the elements of pairs where the driver's element layout is known: an invocation reads and writes its own
// elements in place. Results and left operands have the same element layout here, with as many columns as the depth
// has.
#ifndef VKF_PAIRS_IN_REGISTERS_GLSL
#define VKF_PAIRS_IN_REGISTERS_GLSL

#define PAIR(matrix, element) pair_matrix[matrix][element]

// Loops over the elements of a sum that an invocation has.
#define VKF_FOR_EACH_SUM(e, matrix) UNROLL for (uint e = 0; e < ELEMENTS; e++)

// Does nothing: the products left the pairs where PAIR finds them.
void takePairs() {}

// Rounds p or ds to nearest. A NaN stays a NaN: the minimum keeps the addition from carrying a positive one into the
// sign. A negative one carries past the sign if its upper 17 bits are ones. None is, because elements have 16 bits and
// backward_rows.comp stores another NaN for such a state of a row.
Half roundToHalf(const float x) {
    if (MATRICES_ARE_BF16) {
        return UPPER_HALF(uint(min(floatBitsToInt(x), 0x7fff0000) + 0x8000));
    }
    return Half(x);
}

// Makes the operands of the sums from p and ds.
void makeOperands() {
    UNROLL for (uint r = 0; r < PAIR_ROWS; r++) {
        UNROLL for (uint slice = 0; slice < STEP_SLICES; slice++) {
            UNROLL for (uint e = 0; e < ELEMENTS; e++) {
                operand_matrix[r * STEP_SLICES + slice][e] = roundToHalf(PAIR(r * STEP_MATRICES + slice, e));
            }
        }
    }
}

#endif
