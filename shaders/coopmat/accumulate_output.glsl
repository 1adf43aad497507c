// SPDX-License-Identifier: MIT
//
// Line 10 of the algorithm (attention_coopmat.comp). bf16x3_products.glsl does the same for fp32 numbers.
#ifndef VKF_COOPMAT_ACCUMULATE_OUTPUT_GLSL
#define VKF_COOPMAT_ACCUMULATE_OUTPUT_GLSL

// The column of matrices of v after whose products the probabilities of the next depth are made. Only the compiler's
// order depends on it (docs/tuning.md, "probabilities of the next 16 keys").
const uint LAST_COLUMN_BEFORE = ROW_TILES == 1 || SHARED_DEPTHS == 0 ? (VALUE_TILES - 1) / 2 : VALUE_TILES - 1;

// Line 10: o_i += p v_j, for matrices of rows from `first_matrix` on. The caller has made the probabilities of the
// first depth. This loop makes the probabilities of the next depth between the products of this depth, while the matrix
// unit works.
void accumulateOutput(const uint first_matrix) {
    UNROLL for (uint depth = 0; depth < KEY_DEPTHS; depth++) {
        UNROLL for (uint c = 0; c < VALUE_TILES; c++) {
            RightMatrix v_tile;
            coopMatLoad(v_tile, stage, V_STAGE + depth * MATRIX_DEPTH * V_ROW + c * VALUE_TILE_WORDS, V_ROW,
                        gl_CooperativeMatrixLayoutRowMajor);
            UNROLL for (uint r = first_matrix; r < ROW_TILES; r++) {
                o_tile[r * VALUE_TILES + c] =
                    coopMatMulAdd(p_tile[r * KEY_DEPTHS + depth], v_tile, o_tile[r * VALUE_TILES + c]);
            }
            if (c == LAST_COLUMN_BEFORE && depth + 1 < KEY_DEPTHS) {
                makeProbabilities(depth + 1, first_matrix);
            }
        }
    }
}

#endif
