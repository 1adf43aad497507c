// SPDX-License-Identifier: MIT
//
// Line 8 of the algorithm (attention_coopmat.comp): the products. bf16x3_products.glsl has those of fp32 numbers.
#ifndef VKF_COOPMAT_PRODUCTS_GLSL
#define VKF_COOPMAT_PRODUCTS_GLSL

// s += q k^T, without the scale, for matrices of rows from `first_matrix` on.
void computeProducts(const uint first_matrix) {
    UNROLL for (uint d = 0; d < DIM_TILES; d++) {
        LeftMatrix q_depth[ROW_TILES];
        UNROLL for (uint r = first_matrix; r < ROW_TILES; r++) {
            if (d < HELD_DEPTHS) {
                q_depth[r] = q_tile[r * HELD_DEPTHS + d];
            } else {
                coopMatLoad(q_depth[r], stage, SHARED_QUERIES(r, d), Q_ROW, gl_CooperativeMatrixLayoutRowMajor);
            }
        }
        UNROLL for (uint key = 0; key < KEY_TILES; key++) {
            RightMatrix k_tile;
            coopMatLoad(k_tile, stage, key * MATRIX_COLUMNS * K_ROW + d * TILE_WORDS, K_ROW,
                        gl_CooperativeMatrixLayoutColumnMajor);
            UNROLL for (uint r = first_matrix; r < ROW_TILES; r++) {
                s_tile[r * KEY_TILES + key] = coopMatMulAdd(q_depth[r], k_tile, s_tile[r * KEY_TILES + key]);
            }
        }
    }
}

#endif
