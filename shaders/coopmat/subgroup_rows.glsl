// SPDX-License-Identifier: MIT
//
// Which rows of the workgroup's tile a subgroup owns. It owns ROW_TILES matrices of MATRIX_ROWS packed rows each. There
// are two assignments, here for two matrices in each of four subgroups (the numbers are subgroups):
//
//     side by side    0 0 1 1 2 2 3 3
//     spread          0 1 2 3 0 1 2 3
//
// Under a causal mask no row of the first half of the tile sees the last keys of the tile's diagonal. If the matrices
// are spread, each subgroup has one matrix in this half and skips its products (matrix_masks.glsl). If they lie side by
// side, half of the subgroups have nothing to do, and the others have as much as before. The matrices lie side by side
// with ALiBi, because a subgroup has one slope from key to key for all its rows. They do for narrow heads too, which
// gain nothing (lab/log-0.4.md, "matrices of a subgroup spread").
//
// Needs: common/params.glsl, matrix/matrix_tile.glsl, scores/score_terms.glsl.
// Provides: SPREADS_ROWS, SUBGROUP_STEP, MATRIX_STEP, laneRow.
#ifndef VKF_SUBGROUP_ROWS_GLSL
#define VKF_SUBGROUP_ROWS_GLSL

#ifdef VKF_NARROW
const bool SPREADS_ROWS = false;
#else
const bool SPREADS_ROWS = HAS_WINDOW && !HAS_ALIBI && ROW_TILES == 2;
#endif
// Packed rows from the first row of a subgroup to that of the next one.
const uint SUBGROUP_STEP = SPREADS_ROWS ? MATRIX_ROWS : SUBGROUP_ROWS;
// Packed rows from one matrix of a subgroup to its next one.
const uint MATRIX_STEP = SPREADS_ROWS ? SUBGROUPS * MATRIX_ROWS : MATRIX_ROWS;

// Packed rows between the lane's first row and its row number `row`, which indexes m_row.
uint laneRow(const uint row) {
    return row / FRAGMENT_ROWS * MATRIX_STEP + placeOf(row % FRAGMENT_ROWS * FRAGMENT_ROW_ELEMENTS, ELEMENT_BASIS).x;
}

#endif
