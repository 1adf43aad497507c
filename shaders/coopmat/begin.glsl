// SPDX-License-Identifier: MIT
//
// Lines 4 and 5 of the algorithm (attention_coopmat.comp): loads the subgroup's rows of q into matrices, and clears o,
// m and l.
#ifndef VKF_COOPMAT_BEGIN_GLSL
#define VKF_COOPMAT_BEGIN_GLSL

// Fetches all rows at once. They pass through shared memory VKF_STAGED_MATRICES matrices at a time. The last slices go
// back to shared memory.
void loadHalfQueries() {
    uint begin = subgroup * STAGE_WORDS;
    fetchQueries(q, first_row, lane);
    signQueries();
    UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
        UNROLL for (uint d = 0; d < DIM_MATRICES; d++) {
            if (d % VKF_STAGED_MATRICES == 0) {
                subgroupBarrier(); // the readers of the last chunk are done
                stageQueries(r * Q_CHUNKS + d / VKF_STAGED_MATRICES, begin, lane);
                subgroupMemoryBarrierShared();
                subgroupBarrier();
            }
            LeftMatrix matrix;
            coopMatLoad(matrix, stage, begin + d % VKF_STAGED_MATRICES * SLICE_WORDS, Q_CHUNK_ROW,
                        gl_CooperativeMatrixLayoutRowMajor);
            if (d < HELD_Q_SLICES) {
                q_matrix[r * HELD_Q_SLICES + d] = matrix;
            } else {
                coopMatStore(matrix, stage, SHARED_QUERIES(r, d), Q_ROW, gl_CooperativeMatrixLayoutRowMajor);
            }
        }
    }
}

// Line 5.
void clearState() {
    UNROLL for (uint i = 0; i < ROW_MATRICES * VALUE_MATRICES; i++) {
        o_matrix[i] = ResultMatrix(0.0);
    }
    UNROLL for (uint i = 0; i < ROW_MATRICES * FRAGMENT_ROWS; i++) {
        m_row[i] = BEFORE_ANY_KEY;
        l_row[i] = 0.0;
    }
}

#endif
