// SPDX-License-Identifier: MIT
//
// Elements of matrices where the driver's layout is known: an invocation reads and writes its own in
// place. Results and left operands of one shape are laid out alike, with as many columns as depth.
#ifndef VKF_MATRIX_REGISTERS_GLSL
#define VKF_MATRIX_REGISTERS_GLSL

#define SCORE(matrix, element) s_tile[matrix][element]

void takeScores() {}

// To nearest. For bf16 not left to the conversion, which was seen to cut the lower bits off; ties go up.
Half roundToHalf(const float p) {
    return Half(MATRICES_ARE_BF16 ? uintBitsToFloat((floatBitsToUint(p) + 0x8000u) & 0xffff0000u) : p);
}

// p_tile of one depth.
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

// factors from row_factor.
void makeFactors() {
    UNROLL for (uint e = 0; e < ELEMENTS; e++) {
        factors[e] = row_factor[e / SLOT_ELEMENTS];
    }
}

#endif
