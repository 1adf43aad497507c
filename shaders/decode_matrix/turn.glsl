// SPDX-License-Identifier: MIT
//
// The steps between the two products of the decode kernel on matrices. Maxima and sums run over keys, which are rows of
// the transposed scores. p goes from the element layout of a result to the right operands of decode_matrix/tile.glsl,
// through the subgroup's own shared memory.
#ifndef VKF_DECODE_MATRIX_TURN_GLSL
#define VKF_DECODE_MATRIX_TURN_GLSL

#include "matrix/subgroup_stage.glsl"

// With one column of each key, matrices load p. Two consecutive elements of an invocation lie side by side in a row of
// the result, or one below the other. So p is staged by rows or by columns. Staged rows have no padding. They have 16
// or 32 bytes, which matrices load at full speed.
const bool ROWS_OF_PAIRS = ROW_ELEMENTS > 1;
const uint STAGED_SIDE = ROWS_OF_PAIRS ? MATRIX_COLUMNS : MATRIX_ROWS;
const uint SIDE_WORDS = STAGED_SIDE / 8;
const uint P_WORDS = MATRIX_ROWS * MATRIX_COLUMNS / 8; // words of a matrix

shared uvec4 p_stage[KEY_COLUMNS == 1 ? SUBGROUPS * ROW_MATRICES * P_WORDS : 1];

// With two columns of each key, a word has a probability twice, for both depths of its key.
const uint P_ROW = VKF_DECODE_P_ROW(MATRIX_ROWS);
const uint P_PAIRS = OUTPUT_QUERY_ROWS * QUERY_ROW_STEP * P_ROW; // of a subgroup

shared uint p_pairs[KEY_COLUMNS == 2 ? SUBGROUPS * P_PAIRS : 1];

vec4 maxOverKeys(vec4 x) {
    UNROLL for (uint bit = 0; bit < 7; bit++) {
        if ((1u << bit) < LANES && ((COLUMN_LANES >> bit) & 1u) == 0) {
            x = max(x, subgroupShuffleXor(x, 1u << bit));
        }
    }
    return x;
}

vec4 sumOverKeys(vec4 x) {
    UNROLL for (uint bit = 0; bit < 7; bit++) {
        if ((1u << bit) < LANES && ((COLUMN_LANES >> bit) & 1u) == 0) {
            x += subgroupShuffleXor(x, 1u << bit);
        }
    }
    return x;
}

void loadStagedProbabilities() {
    const uint begin = subgroup * ROW_MATRICES * P_WORDS;
    UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e += 2) {
            uint key = fragmentKey(e / ROW_ELEMENTS);
            uint row = lane_position.y + elementPosition(e % ROW_ELEMENTS).y; // row of q, counted within the matrix
            uint side = ROWS_OF_PAIRS ? key : row;
            uint in_side = ROWS_OF_PAIRS ? row : key;
            p_stage[begin + r * P_WORDS + side * SIDE_WORDS + in_side / 8][in_side / 2 % 4] =
                packProbabilities(s_matrix[r][e], s_matrix[r][e + 1]);
        }
    }
    stageBarrier();
    UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
        if (ROWS_OF_PAIRS) {
            coopMatLoad(p_matrix[r], p_stage, begin + r * P_WORDS, SIDE_WORDS, gl_CooperativeMatrixLayoutRowMajor);
        } else {
            coopMatLoad(p_matrix[r], p_stage, begin + r * P_WORDS, SIDE_WORDS, gl_CooperativeMatrixLayoutColumnMajor);
        }
    }
}

void stagePairs() {
    UNROLL for (uint query_row = 0; query_row < LANE_QUERY_ROWS; query_row++) {
        UNROLL for (uint fragment_row = 0; fragment_row < LEFT_FRAGMENT_ROWS; fragment_row++) {
            float p = s_matrix[0][fragment_row * ROW_ELEMENTS + query_row];
            if (ownsRows()) {
                p_pairs[subgroup * P_PAIRS + rowOfQuery(query_row) * P_ROW + fragmentKey(fragment_row)] =
                    packProbabilities(p, p);
            }
        }
    }
}

// The halves of a staged word that are not zero in a column of p.
uint halvesOfColumn(const uint column) {
    if (SPLIT_PAIRS) {
        return column % 2 == splitColumn() ? 0xffffffffu : 0u;
    }
    return column % 2 == 0 ? 0x0000ffffu : 0xffff0000u;
}

// Makes p_matrix from the probabilities in s_matrix.
void turnProbabilities() {
    stageBarrier();
    if (KEY_COLUMNS == 1) {
        loadStagedProbabilities();
        return;
    }
    stagePairs();
    stageBarrier();
    UNROLL for (uint fragment_row = 0; fragment_row < QUERY_FRAGMENT_ROWS; fragment_row++) {
        const uint column = lane_position.x + fragmentRow(fragment_row);
        const uint begin = subgroup * P_PAIRS + rowOfOutput(0, column) * P_ROW;
        UNROLL for (uint key = 0; key < VALUE_KEYS; key++) {
            const uint pair = p_pairs[begin + valueKey(key)] & halvesOfColumn(column);
            UNROLL for (uint i = 0; i < LANE_COLUMNS; i++) {
                p_matrix[key / STEP_KEYS][fragment_row * FRAGMENT_ROW_ELEMENTS + key % STEP_KEYS * LANE_COLUMNS + i] =
                    halfOfPair(pair, i);
            }
        }
    }
}

#endif
