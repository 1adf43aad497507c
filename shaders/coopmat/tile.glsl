// SPDX-License-Identifier: MIT
//
// The tile of the kernels of path coopmat on matrices: which rows of the workgroup's tile a subgroup owns, and the
// sizes that follow from the tile and the problem.
//
// A subgroup owns ROW_MATRICES matrices of MATRIX_ROWS packed rows each. There are two assignments, here for two
// matrices in each of four subgroups (the numbers are subgroups):
//
//     side by side    0 0 1 1 2 2 3 3
//     spread          0 1 2 3 0 1 2 3
//
// Under a causal mask no row of the first half of the tile sees the last keys of the tile's diagonal. If the matrices
// are spread, each subgroup has one matrix in this half and skips its products (coopmat/softmax.glsl). If they lie side
// by side, half of the subgroups have nothing to do, and the others have as much as before. The matrices lie side by
// side with ALiBi, because a subgroup has one slope from key to key for all its rows. They do for narrow heads too,
// which gain nothing (lab/log-0.4.md, "matrices of a subgroup spread").
#ifndef VKF_COOPMAT_TILE_GLSL
#define VKF_COOPMAT_TILE_GLSL

// The entry file chooses: MAY_SPREAD_ROWS, or false.
#define MAY_SPREAD_ROWS (HAS_WINDOW && !HAS_ALIBI && ROW_MATRICES == 2)
const bool SPREADS_ROWS = VKF_SPREADS_ROWS;
// Packed rows from the first row of a subgroup to that of the next one.
const uint SUBGROUP_STRIDE = SPREADS_ROWS ? MATRIX_ROWS : SUBGROUP_ROWS;
// Packed rows from one matrix of a subgroup to its next one.
const uint MATRIX_STRIDE = SPREADS_ROWS ? SUBGROUPS * MATRIX_ROWS : MATRIX_ROWS;

// Packed rows between the lane's first row and its row number `row`, which indexes m_row.
uint laneRow(const uint row) {
    return row / FRAGMENT_ROWS * MATRIX_STRIDE +
           positionOf(row % FRAGMENT_ROWS * FRAGMENT_ROW_ELEMENTS, ELEMENT_BASIS).x;
}

// A word has 16 bytes, which are eight elements.
const uint K_WORDS = (HEAD_DIM + 7) / 8; // in a row
const uint V_WORDS = (VALUE_DIM + 7) / 8;
const uint K_ROW = VKF_MATRIX_ROW_WORDS(DIM_MATRICES, MATRIX_DEPTH); // words from row to row in shared memory
const uint V_ROW = VKF_MATRIX_ROW_WORDS(VALUE_MATRICES, MATRIX_COLUMNS);
const uint STAGE_WORDS = VKF_MATRIX_STAGE_WORDS(MATRIX_ROWS, MATRIX_DEPTH, MATRIX_COLUMNS); // words of a subgroup
const uint SLICE_WORDS = MATRIX_DEPTH / 8;     // words in a row of a matrix of q, or in a column of a matrix of k^T
const uint V_SLICE_WORDS = MATRIX_COLUMNS / 8; // words in a row of a matrix of v
// Whether rows of k or v have columns past their last word. No tile overwrites these columns. A choice joins the two
// comparisons: glslang writes wrong SPIR-V for || and && of such constants, which the test spirv_val finds.
const bool CLEARS_STAGE = K_WORDS != DIM_MATRICES * SLICE_WORDS ? true : V_WORDS != VALUE_MATRICES * V_SLICE_WORDS;

// A chunk: the slices of q that a subgroup stages at once, for one row of matrices.
const uint Q_CHUNKS = (DIM_MATRICES + VKF_STAGED_MATRICES - 1) / VKF_STAGED_MATRICES; // of a row of matrices
const uint Q_CHUNK_ROW = VKF_MATRIX_ROW_WORDS(VKF_STAGED_MATRICES, MATRIX_DEPTH);     // words from row to row
const uint Q_CHUNK_WORDS = VKF_STAGED_MATRICES * SLICE_WORDS;                         // words in a row of a chunk
const uint Q_LANE_WORDS = MATRIX_ROWS * Q_CHUNK_WORDS / LANES; // words of a chunk that a lane moves

// The last SHARED_Q_SLICES slices of q lie in shared memory during the loop over keys, all others in registers.
layout(constant_id = VKF_ID_SHARED_Q_SLICES) const uint SHARED_Q_SLICES = 0;
const uint HELD_Q_SLICES = DIM_MATRICES - SHARED_Q_SLICES;
const uint Q_ROW = VKF_MATRIX_ROW_WORDS(SHARED_Q_SLICES, MATRIX_DEPTH); // words from row to row

const uint OWN_ROWS = ROW_MATRICES * FRAGMENT_ROWS;        // rows of which an invocation has elements
const uint SLOPES = PACKED_HEADS == 1 ? 1 : OWN_ROWS;      // slopes of ALiBi: one for each head among these rows
const uint BIAS_BITS = 1u << LOG_BIAS_BITS;                // bits of an element of the bias
const uint BIAS_WORDS = (LANE_KEYS * BIAS_BITS + 31) / 32; // words of 4 bytes in a bias row, for the lane's keys
const bool ADDS_BIAS = HAS_BIAS && !BIAS_IS_MASK; // and then scores are in base e, not in base 2 (scores/units.glsl)

#endif
