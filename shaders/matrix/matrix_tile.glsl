// SPDX-License-Identifier: MIT
//
// The tile of the kernels on cooperative matrices, and the key and the row of each element.
#ifndef VKF_MATRIX_TILE_GLSL
#define VKF_MATRIX_TILE_GLSL

#include "matrix/matrix_layout.glsl"

layout(constant_id = VKF_ID_ROW_MATRICES) const uint ROW_MATRICES = 2;
layout(constant_id = VKF_ID_KEY_MATRICES) const uint KEY_MATRICES = 2;
layout(constant_id = VKF_ID_WHOLE_WORDS) const bool WHOLE_WORDS = true;
layout(constant_id = VKF_ID_OUTPUT_WORDS) const bool O_IN_WORDS = true;

const uint SUBGROUPS = WORKGROUP_SIZE / LANES;
const uint SUBGROUP_ROWS = ROW_MATRICES * MATRIX_ROWS;
const uint TILE_ROWS = SUBGROUPS * SUBGROUP_ROWS;
const uint TILE_KEYS = KEY_MATRICES * MATRIX_COLUMNS;
// A slice has MATRIX_DEPTH columns of q and k, or MATRIX_DEPTH keys of p and v. One product of matrices takes one
// slice.
const uint KEY_SLICES = TILE_KEYS / MATRIX_DEPTH;
const uint DIM_MATRICES = VKF_MATRICES(HEAD_DIM, MATRIX_DEPTH); // one for each slice of q and k
const uint VALUE_MATRICES = VKF_MATRICES(VALUE_DIM, MATRIX_COLUMNS);

// The keys of a tile are assigned to the columns of its matrices so that the keys of an invocation are consecutive. A
// bias or a mask has an element for each key, and an invocation then reads it in few pieces. An invocation has
// LANE_KEYS keys of each of its rows, from laneKey on. The first FRAGMENT_ROW_ELEMENTS of these keys belong to the
// first matrix, the next ones to the next matrix.
const uint LANE_KEYS = KEY_MATRICES * FRAGMENT_ROW_ELEMENTS;

// The key of a column of the tile, counted from the tile's first key.
uint tileKey(const uint column) {
    uint key = column / MATRIX_COLUMNS * FRAGMENT_ROW_ELEMENTS;
    uint next_of_element = 1;
    uint next_of_lane = LANE_KEYS;
    UNROLL for (uint bit = 1; bit < MATRIX_COLUMNS; bit *= 2) {
        bool of_element = (ELEMENT_COLUMNS & bit) != 0;
        key += (column & bit) == 0 ? 0 : of_element ? next_of_element : next_of_lane;
        next_of_element <<= of_element ? 1 : 0;
        next_of_lane <<= of_element ? 0 : 1;
    }
    return key;
}

// The lane's first key, counted from the tile's first key.
uint laneKey(const uint lane) {
    return tileKey(lanePosition(lane).y);
}

// The row of an element of scores, as an index of m_row.
uint rowOf(const uint matrix, const uint element) {
    return matrix / KEY_MATRICES * FRAGMENT_ROWS + element / FRAGMENT_ROW_ELEMENTS;
}

// The key of an element of matrix number `matrix` in a row of matrices, counted from the lane's first key.
uint elementKey(const uint matrix, const uint element) {
    return matrix * FRAGMENT_ROW_ELEMENTS + element % FRAGMENT_ROW_ELEMENTS;
}

#endif
