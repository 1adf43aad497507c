// SPDX-License-Identifier: MIT
//
// Access to the elements of pairs where the driver's element layout is unknown. As in
// coopmat/attention_via_shared.comp, a row of matrices passes through shared memory into a known element layout, and
// its operands go back.
#ifndef VKF_PAIRS_VIA_SHARED_GLSL
#define VKF_PAIRS_VIA_SHARED_GLSL

#include "matrix/subgroup_stage.glsl"

float pair_element[2 * SCORE_MATRICES * ELEMENTS]; // the invocation's pairs, taken out of pair_matrix
const uint VIA_SHARED_WORDS = VKF_VIA_SHARED_WORDS(MATRIX_ROWS, STEP); // words of a subgroup
shared uvec4 via_shared[SUBGROUPS * VIA_SHARED_WORDS];                 // pairs and operands of one row of matrices
const uint PAIR_ROW = VKF_VIA_SHARED_ROW_WORDS(STEP);                  // words from row to row
const uint OPERAND_ROW = STEP / 8 + 1;
#define PAIR(matrix, element) pair_element[(matrix)*ELEMENTS + (element)]

// Loops over the elements of a sum that an invocation has. Drivers may repeat elements, so that there are more of them
// than ELEMENTS.
#define VKF_FOR_EACH_SUM(e, matrix) for (uint e = 0; e < matrix.length(); e++)

// Copies the invocation's pairs from pair_matrix to pair_element.
void takePairs() {
    uint begin = subgroup * VIA_SHARED_WORDS;
    uvec2 position = lanePosition(lane);
    UNROLL for (uint r = 0; r < PAIR_ROWS; r++) {
        stageBarrier();
        UNROLL for (uint t = 0; t < STEP_MATRICES; t++) {
            coopMatStore(pair_matrix[r * STEP_MATRICES + t], via_shared, begin + t * MATRIX_COLUMNS / 4, PAIR_ROW,
                         gl_CooperativeMatrixLayoutRowMajor);
        }
        stageBarrier();
        UNROLL for (uint t = 0; t < STEP_MATRICES; t++) {
            UNROLL for (uint e = 0; e < ELEMENTS; e += 4) {
                uvec2 step = elementPosition(e);
                vec4 x = uintBitsToFloat(via_shared[begin + position.x * PAIR_ROW + position.y / 4 +
                                                    (step.x * PAIR_ROW + (t * MATRIX_COLUMNS + step.y) / 4)]);
                UNROLL for (uint i = 0; i < 4; i++) {
                    PAIR(r * STEP_MATRICES + t, e + i) = x[i];
                }
            }
        }
    }
}

// Two elements in 16 bits, rounded to nearest. A NaN stays a NaN.
uint packPairs(const float low, const float high) {
    if (MATRICES_ARE_BF16) {
        uvec2 bits = floatBitsToUint(vec2(low, high));
        bvec2 is_nan = greaterThan(bits & 0x7fffffffu, uvec2(0x7f800000u));
        bits = mix(bits + 0x8000u, uvec2(0x7fc00000u), is_nan);
        return (bits.x >> 16) | (bits.y & 0xffff0000u);
    }
    return packFloat2x16(f16vec2(low, high));
}

uvec2 packPairs4(const uint matrix, const uint e) {
    return uvec2(packPairs(PAIR(matrix, e), PAIR(matrix, e + 1)), packPairs(PAIR(matrix, e + 2), PAIR(matrix, e + 3)));
}

// Stores a row of matrices to shared memory: in words, or in half words where a fragment row has four elements.
void stagePairs(const uint r, const uint begin) {
    uvec2 position = lanePosition(lane);
    UNROLL for (uint t = 0; t < STEP_MATRICES; t++) {
        uint matrix = r * STEP_MATRICES + t;
        UNROLL for (uint e = 0; e < ELEMENTS; e += min(FRAGMENT_ROW_ELEMENTS, 8)) {
            uvec2 step = elementPosition(e);
            uint word = begin + position.x * OPERAND_ROW + position.y / 8 +
                        (step.x * OPERAND_ROW + (t * MATRIX_COLUMNS + step.y) / 8);
            if (FRAGMENT_ROW_ELEMENTS % 8 == 0) {
                via_shared[word] = uvec4(packPairs4(matrix, e), packPairs4(matrix, e + 4));
            } else {
                uvec2 half_word = packPairs4(matrix, e);
                via_shared[word][position.y / 4 % 2 * 2] = half_word.x;
                via_shared[word][position.y / 4 % 2 * 2 + 1] = half_word.y;
            }
        }
    }
}

// Makes the operands of the sums from p and ds.
void makeOperands() {
    uint begin = subgroup * VIA_SHARED_WORDS;
    UNROLL for (uint r = 0; r < PAIR_ROWS; r++) {
        stageBarrier();
        stagePairs(r, begin);
        stageBarrier();
        UNROLL for (uint slice = 0; slice < STEP_SLICES; slice++) {
            coopMatLoad(operand_matrix[r * STEP_SLICES + slice], via_shared, begin + slice * SLICE_WORDS, OPERAND_ROW,
                        gl_CooperativeMatrixLayoutRowMajor);
        }
    }
}

#endif
