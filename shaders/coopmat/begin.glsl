// SPDX-License-Identifier: MIT
//
// Lines 4 and 5 of the algorithm (attention_coopmat.comp): loads the subgroup's rows of q into matrices, and clears o,
// m and l.
#ifndef VKF_COOPMAT_BEGIN_GLSL
#define VKF_COOPMAT_BEGIN_GLSL

// Fetches all rows at once. They pass through shared memory VKF_MATRIX_STAGED_TILES matrices at a time. The last depths
// go back to shared memory.
void loadHalfQueries() {
    uint begin = subgroup * STAGE_WORDS;
    fetchQueries(q, first_row, lane);
    signQueries();
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        UNROLL for (uint d = 0; d < DIM_TILES; d++) {
            if (d % VKF_MATRIX_STAGED_TILES == 0) {
                subgroupBarrier(); // the readers of the last chunk are done
                stageQueries(r * Q_CHUNKS + d / VKF_MATRIX_STAGED_TILES, begin, lane);
                subgroupMemoryBarrierShared();
                subgroupBarrier();
            }
            LeftMatrix matrix;
            coopMatLoad(matrix, stage, begin + d % VKF_MATRIX_STAGED_TILES * TILE_WORDS, Q_CHUNK_ROW,
                        gl_CooperativeMatrixLayoutRowMajor);
            if (d < HELD_DEPTHS) {
                q_tile[r * HELD_DEPTHS + d] = matrix;
            } else {
                coopMatStore(matrix, stage, SHARED_QUERIES(r, d), Q_ROW, gl_CooperativeMatrixLayoutRowMajor);
            }
        }
    }
}

// Line 5.
void clearState() {
    UNROLL for (uint i = 0; i < ROW_TILES * VALUE_TILES; i++) {
        o_tile[i] = ResultMatrix(0.0);
    }
    UNROLL for (uint i = 0; i < ROW_TILES * FRAGMENT_ROWS; i++) {
        m_row[i] = BEFORE_ANY_KEY;
        l_row[i] = 0.0;
    }
}

#endif
