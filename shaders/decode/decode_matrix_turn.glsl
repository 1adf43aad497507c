// SPDX-License-Identifier: MIT
//
// The steps between the two products of the decode kernel on matrices. Maxima and sums run over keys, which are rows of
// the transposed scores. p goes from the element layout of a result to the layout of a right operand, through the
// subgroup's own shared memory.
//
// Needs: decode/decode_matrix_state.glsl, decode/decode_matrix_tile.glsl. Provides: maxOverKeys, sumOverKeys,
// turnProbabilities.
#ifndef VKF_DECODE_MATRIX_TURN_GLSL
#define VKF_DECODE_MATRIX_TURN_GLSL

#include "matrix/subgroup_stage.glsl"

// Two consecutive elements of an invocation lie side by side in a row of the result, or one below the other. So p is
// staged by rows or by columns. Staged rows have no padding. They have 16 or 32 bytes, which matrices load at full
// speed.
const bool ROWS_OF_PAIRS = ROW_ELEMENTS > 1;
const uint STAGED_SIDE = ROWS_OF_PAIRS ? MATRIX_COLUMNS : MATRIX_ROWS;
const uint SIDE_WORDS = STAGED_SIDE / 8;
const uint P_WORDS = MATRIX_ROWS * MATRIX_COLUMNS / 8; // words of a matrix

shared uvec4 p_stage[SUBGROUPS * ROW_TILES * P_WORDS];

vec4 maxOverKeys(vec4 x) {
    UNROLL for (uint bit = 0; bit < 7; bit++) {
        if (1u << bit < LANES && (COLUMN_LANES >> bit & 1u) == 0) {
            x = max(x, subgroupShuffleXor(x, 1u << bit));
        }
    }
    return x;
}

vec4 sumOverKeys(vec4 x) {
    UNROLL for (uint bit = 0; bit < 7; bit++) {
        if (1u << bit < LANES && (COLUMN_LANES >> bit & 1u) == 0) {
            x += subgroupShuffleXor(x, 1u << bit);
        }
    }
    return x;
}

// Makes p_tile from the probabilities in s_tile.
void turnProbabilities() {
    const uint begin = subgroup * ROW_TILES * P_WORDS;
    stageBarrier();
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e += 2) {
            uint key = slotKey(e / ROW_ELEMENTS);
            uint row = lane_place.y + elementPlace(e % ROW_ELEMENTS).y; // row of q, counted within the matrix
            uint side = ROWS_OF_PAIRS ? key : row;
            uint in_side = ROWS_OF_PAIRS ? row : key;
            p_stage[begin + r * P_WORDS + side * SIDE_WORDS + in_side / 8][in_side / 2 % 4] =
                packProbabilities(s_tile[r][e], s_tile[r][e + 1]);
        }
    }
    stageBarrier();
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        if (ROWS_OF_PAIRS) {
            coopMatLoad(p_tile[r], p_stage, begin + r * P_WORDS, SIDE_WORDS, gl_CooperativeMatrixLayoutRowMajor);
        } else {
            coopMatLoad(p_tile[r], p_stage, begin + r * P_WORDS, SIDE_WORDS, gl_CooperativeMatrixLayoutColumnMajor);
        }
    }
}

#endif
