// SPDX-License-Identifier: MIT
//
// One tile of a matrix product a b on cooperative matrices. The kernel reads a and b from device memory as 16-bit rows,
// and an fp32 q as fp32 rows. The unfused path has two such products. A workgroup makes TILE_ROWS rows of all
// COLUMN_MATRICES columns of matrices. A subgroup owns SUBGROUP_ROWS of the rows. The kernel walks over the depth in
// steps. One step has:
//
//     a   TILE_ROWS rows of A_WORDS words of 16 bytes
//     b   B_ROWS rows of B_WORDS words: each row is a row of b or, if B_IN_COLUMNS, a column of b
//
// Data of a step moves in two halves. First the kernel fetches it into registers, with all loads in flight at once.
// Then it stores it to shared memory, when the readers of the step before are done.
#ifndef VKF_MATRIX_PRODUCT_GLSL
#define VKF_MATRIX_PRODUCT_GLSL

#include "matrix/half_rows.glsl"
#include "matrix/query_words.glsl"

const uint SLICE_WORDS = MATRIX_DEPTH / 8;
const uint COLUMN_WORDS = MATRIX_COLUMNS / 8;
const uint STEP_SLICES = A_WORDS / SLICE_WORDS; // matrices in a step, along the depth
// Words from row to row in shared memory. One word of padding lets rows start in different banks.
const uint A_ROW = A_WORDS + 1;
const uint B_ROW = B_WORDS + 1;
const uint B_STAGE = TILE_ROWS * A_ROW;
const uint A_FETCHES = (TILE_ROWS * A_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint B_FETCHES = (B_ROWS * B_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;

shared uvec4 stage[VKF_MAX_WORDS(VKF_PRODUCT_WORDS(TILE_ROWS, A_WORDS, B_ROWS, B_WORDS),
                                 VKF_PRODUCT_OUTPUT_WORDS(SUBGROUPS, MATRIX_ROWS, MATRIX_COLUMNS))];

uvec4 fetched_a[A_FETCHES];
uvec4 fetched_b[B_FETCHES];

ResultMatrix sum_matrix[ROW_MATRICES * COLUMN_MATRICES];

void clearProduct() {
    UNROLL for (uint i = 0; i < ROW_MATRICES * COLUMN_MATRICES; i++) {
        sum_matrix[i] = ResultMatrix(0.0);
    }
}

// A word of a: rows of `type`, which is fp32 or the type of the matrices.
uvec4 wordOfA(const HalfRows rows, const uint row, const uint column, const uint dim, const uint type,
              const bool whole_words) {
    if (type == VKF_STORED_F32) {
        uvec2 address = halfRowAddress(rows, min(row, rows.count - 1));
        return roundedRowWord(address, row < rows.count ? column : dim, dim, whole_words);
    }
    return wordOrZero(rows, row, column, dim, whole_words);
}

// Fetches words of a from (row_begin, column) on. Rows have `dim` elements of `type`.
void fetchA(const HalfRows rows, const uint row_begin, const uint column, const uint dim, const uint type,
            const bool whole_words, const uint thread) {
    UNROLL for (uint i = 0; i < A_FETCHES; i++) {
        uint index = min(i * WORKGROUP_SIZE + thread, TILE_ROWS * A_WORDS - 1);
        fetched_a[i] = wordOfA(rows, row_begin + index / A_WORDS, column + index % A_WORDS * 8, dim, type, whole_words);
    }
}

// Fetches words of b in the same way.
void fetchB(const HalfRows rows, const uint row_begin, const uint column, const uint dim, const bool whole_words,
            const uint thread) {
    UNROLL for (uint i = 0; i < B_FETCHES; i++) {
        uint index = min(i * WORKGROUP_SIZE + thread, B_ROWS * B_WORDS - 1);
        fetched_b[i] = wordOrZero(rows, row_begin + index / B_WORDS, column + index % B_WORDS * 8, dim, whole_words);
    }
}

void forgetStep() {
    FORGET(fetched_a, 0, A_FETCHES, uvec4(0));
    FORGET(fetched_b, 0, B_FETCHES, uvec4(0));
}

void stageStep(const uint thread) {
    UNROLL for (uint i = 0; i < A_FETCHES; i++) {
        uint index = i * WORKGROUP_SIZE + thread;
        if (TILE_ROWS * A_WORDS % WORKGROUP_SIZE == 0 || index < TILE_ROWS * A_WORDS) {
            stage[index / A_WORDS * A_ROW + index % A_WORDS] = fetched_a[i];
        }
    }
    UNROLL for (uint i = 0; i < B_FETCHES; i++) {
        uint index = i * WORKGROUP_SIZE + thread;
        if (B_ROWS * B_WORDS % WORKGROUP_SIZE == 0 || index < B_ROWS * B_WORDS) {
            stage[B_STAGE + index / B_WORDS * B_ROW + index % B_WORDS] = fetched_b[i];
        }
    }
}

void multiplyStep(const uint subgroup) {
    UNROLL for (uint d = 0; d < STEP_SLICES; d++) {
        LeftMatrix a_matrix[ROW_MATRICES];
        UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
            coopMatLoad(a_matrix[r], stage, (subgroup * SUBGROUP_ROWS + r * MATRIX_ROWS) * A_ROW + d * SLICE_WORDS,
                        A_ROW, gl_CooperativeMatrixLayoutRowMajor);
        }
        UNROLL for (uint c = 0; c < COLUMN_MATRICES; c++) {
            RightMatrix b_matrix;
            if (B_IN_COLUMNS) {
                coopMatLoad(b_matrix, stage, B_STAGE + c * MATRIX_COLUMNS * B_ROW + d * SLICE_WORDS, B_ROW,
                            gl_CooperativeMatrixLayoutColumnMajor);
            } else {
                coopMatLoad(b_matrix, stage, B_STAGE + d * MATRIX_DEPTH * B_ROW + c * COLUMN_WORDS, B_ROW,
                            gl_CooperativeMatrixLayoutRowMajor);
            }
            UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
                sum_matrix[r * COLUMN_MATRICES + c] =
                    coopMatMulAdd(a_matrix[r], b_matrix, sum_matrix[r * COLUMN_MATRICES + c]);
            }
        }
    }
}

#endif
