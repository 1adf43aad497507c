// SPDX-License-Identifier: MIT
//
// The steps between the two products of the decode kernel on matrices. Maxima and sums run over keys, which are rows of
// the transposed scores. p goes from the element layout of a result to the right operands of decode_matrix/tile.glsl,
// through the subgroup's own shared memory.
#ifndef VKF_DECODE_MATRIX_TRANSPOSE_GLSL
#define VKF_DECODE_MATRIX_TRANSPOSE_GLSL

#include "matrix/subgroup_stage.glsl"

// With one column of each key, matrices load p. Two consecutive elements of an invocation lie side by side in a row of
// the result, or one below the other. So p is staged by rows or by columns. Staged rows have no padding. They have 16
// or 32 bytes, which matrices load at full speed.
const bool STAGES_ROWS = ROW_ELEMENTS > 1;
const uint STAGED_SIDE = STAGES_ROWS ? MATRIX_COLUMNS : MATRIX_ROWS;
const uint SIDE_WORDS = STAGED_SIDE / 8;
const uint P_WORDS = MATRIX_ROWS * MATRIX_COLUMNS / 8; // words of a matrix

shared uvec4 p_stage[KEY_COLUMNS == 1 ? SUBGROUPS * ROW_MATRICES * P_WORDS : 1];

// With two columns of each key, a word has a probability twice, for both rows of p of its key.
const uint P_ROW = VKF_DECODE_P_ROW(MATRIX_ROWS);
const uint P_TWICE_WORDS = OUTPUT_LANE_ROWS * LANE_ROW_STRIDE * P_ROW; // of a subgroup

shared uint p_twice[KEY_COLUMNS == 2 ? SUBGROUPS * P_TWICE_WORDS : 1];

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
            uint side = STAGES_ROWS ? key : row;
            uint in_side = STAGES_ROWS ? row : key;
            p_stage[begin + r * P_WORDS + side * SIDE_WORDS + in_side / 8][in_side / 2 % 4] =
                packProbabilities(s_matrix[r][e], s_matrix[r][e + 1]);
        }
    }
    stageBarrier();
    UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
        if (STAGES_ROWS) {
            coopMatLoad(p_matrix[r], p_stage, begin + r * P_WORDS, SIDE_WORDS, gl_CooperativeMatrixLayoutRowMajor);
        } else {
            coopMatLoad(p_matrix[r], p_stage, begin + r * P_WORDS, SIDE_WORDS, gl_CooperativeMatrixLayoutColumnMajor);
        }
    }
}

void stageTwice() {
    UNROLL for (uint lane_row = 0; lane_row < LANE_ROWS; lane_row++) {
        UNROLL for (uint fragment_row = 0; fragment_row < LEFT_FRAGMENT_ROWS; fragment_row++) {
            float p = s_matrix[0][fragment_row * ROW_ELEMENTS + lane_row];
            if (ownsRows()) {
                p_twice[subgroup * P_TWICE_WORDS + subgroupRow(lane_row) * P_ROW + fragmentKey(fragment_row)] =
                    packProbabilities(p, p);
            }
        }
    }
}

// The halves of a staged word that are not zero in a column of p.
uint halvesOfColumn(const uint column) {
    if (SPLIT_COLUMN_PAIRS) {
        return column % 2 == splitColumn() ? 0xffffffffu : 0u;
    }
    return column % 2 == 0 ? 0x0000ffffu : 0xffff0000u;
}

// Makes p_matrix from the probabilities in s_matrix.
void transposeProbabilities() {
    stageBarrier();
    if (KEY_COLUMNS == 1) {
        loadStagedProbabilities();
        return;
    }
    stageTwice();
    stageBarrier();
    UNROLL for (uint fragment_row = 0; fragment_row < Q_FRAGMENT_ROWS; fragment_row++) {
        const uint column = lane_position.x + fragmentRow(fragment_row);
        const uint begin = subgroup * P_TWICE_WORDS + rowOfOutput(0, column) * P_ROW;
        UNROLL for (uint key = 0; key < VALUE_KEYS; key++) {
            const uint pair = p_twice[begin + valueKey(key)] & halvesOfColumn(column);
            UNROLL for (uint i = 0; i < LANE_COLUMNS; i++) {
                p_matrix[key / P_LANE_KEYS][fragment_row * FRAGMENT_ROW_ELEMENTS + key % P_LANE_KEYS * LANE_COLUMNS +
                                            i] = halfOfUint(pair, i);
            }
        }
    }
}

#endif
