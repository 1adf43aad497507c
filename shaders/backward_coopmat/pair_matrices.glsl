// SPDX-License-Identifier: MIT
//
// The products of backward_coopmat.comp: pairs from operands that the subgroup owns, and sums from pairs.
//
// Needs: backward_coopmat/globals.glsl. Provides: multiplyPairs, joinPairs, addSums.
#ifndef VKF_PAIR_MATRICES_GLSL
#define VKF_PAIR_MATRICES_GLSL

const uint DP_DEPTHS = NEEDS_DP ? VALUE_DEPTHS : 0;

// Lines 10 and 13: scores and dp of a step. The two take turns, so that consecutive products do not depend on each
// other.
void multiplyPairs(const uint step) {
    UNROLL for (uint i = 0; i < 2 * SCORE_MATRICES; i++) {
        pair_tile[i] = ResultMatrix(0.0);
    }
    uint heads = present_stage + step * STEP * HEAD_ROW + columnShare() * HEAD_DEPTHS * DEPTH_WORDS;
    uint values =
        present_stage + STAGE_VALUES + step * STEP * VALUE_ROW + columnShare() * VALUE_DEPTHS * DEPTH_WORDS;
    UNROLL for (uint d = 0; d < VKF_MAX_WORDS(HEAD_DEPTHS, DP_DEPTHS); d++) {
        UNROLL for (uint t = 0; t < STEP_TILES; t++) {
            RightMatrix visited;
            if (d < HEAD_DEPTHS) {
                coopMatLoad(visited, stage, heads + t * MATRIX_COLUMNS * HEAD_ROW + d * DEPTH_WORDS, HEAD_ROW,
                            gl_CooperativeMatrixLayoutColumnMajor);
                UNROLL for (uint r = 0; r < OWNED_TILES; r++) {
                    const uint i = r * STEP_TILES + t;
                    pair_tile[i] = coopMatMulAdd(head_tile[r * HEAD_DEPTHS + d], visited, pair_tile[i]);
                }
            }
            if (d < DP_DEPTHS) {
                coopMatLoad(visited, stage, values + t * MATRIX_COLUMNS * VALUE_ROW + d * DEPTH_WORDS, VALUE_ROW,
                            gl_CooperativeMatrixLayoutColumnMajor);
                UNROLL for (uint r = 0; r < OWNED_TILES; r++) {
                    const uint i = SCORE_MATRICES + r * STEP_TILES + t;
                    pair_tile[i] = coopMatMulAdd(value_tile[r * VALUE_DEPTHS + d], visited, pair_tile[i]);
                }
            }
        }
    }
}

// Adds the pairs of the two subgroups that divide the depth. Both get the same bits.
void joinPairs() {
    if (DEPTH_SUBGROUPS == 1) {
        return;
    }
    const uint matrices = NEEDS_DP ? 2 * SCORE_MATRICES : SCORE_MATRICES;
    if (VISITED_STEPS > 1) {
        barrier(); // the readers of the last step are done
    }
    UNROLL for (uint i = 0; i < matrices; i++) {
        coopMatStore(pair_tile[i], join_stage, (subgroup * matrices + i) * JOIN_WORDS, JOIN_ROW,
                     gl_CooperativeMatrixLayoutRowMajor);
    }
    barrier();
    UNROLL for (uint i = 0; i < matrices; i++) {
        ResultMatrix other;
        coopMatLoad(other, join_stage, ((subgroup ^ 1) * matrices + i) * JOIN_WORDS, JOIN_ROW,
                    gl_CooperativeMatrixLayoutRowMajor);
        pair_tile[i] += other;
    }
}

// Lines 12, 15 and 16: sums[first...] += operands of a row of matrices from `operands` on, times visited rows or keys.
#define VKF_ADD_SUMS(first, columns, operands, begin, row_words)                                                   \
    UNROLL for (uint depth = 0; depth < STEP_DEPTHS; depth++) {                                                    \
        UNROLL for (uint c = 0; c < (columns); c++) {                                                              \
            RightMatrix visited;                                                                                   \
            coopMatLoad(visited, stage, (begin) + depth * MATRIX_DEPTH * (row_words) + c * COLUMN_WORDS,           \
                        row_words, gl_CooperativeMatrixLayoutRowMajor);                                            \
            UNROLL for (uint r = 0; r < OWNED_TILES; r++) {                                                        \
                const uint i = (first) + r * (columns) + c;                                                        \
                sum_tile[i] = coopMatMulAdd(operand_tile[((operands) + r) * STEP_DEPTHS + depth], visited, sum_tile[i]); \
            }                                                                                                      \
        }                                                                                                          \
    }

void addSums(const uint step) {
    uint heads = present_stage + step * STEP * HEAD_ROW + columnShare() * HEAD_COLUMNS * COLUMN_WORDS;
    uint values =
        present_stage + STAGE_VALUES + step * STEP * VALUE_ROW + columnShare() * VALUE_COLUMNS * COLUMN_WORDS;
    VKF_ADD_SUMS(0, VALUE_COLUMNS, 0, values, VALUE_ROW)
    VKF_ADD_SUMS(FIRST_HEAD_SUM, HEAD_COLUMNS, OWNED_TILES, heads, HEAD_ROW)
}

#endif
