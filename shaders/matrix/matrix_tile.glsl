// SPDX-License-Identifier: MIT
//
// The tile of the cooperative-matrix kernel.
#ifndef VKF_MATRIX_TILE_GLSL
#define VKF_MATRIX_TILE_GLSL

#include "matrix/matrix_layout.glsl"

layout(constant_id = VKF_ID_ROW_TILES) const uint ROW_TILES = 2;
layout(constant_id = VKF_ID_KEY_TILES) const uint KEY_TILES = 2;
layout(constant_id = VKF_ID_WHOLE_WORDS) const bool WHOLE_WORDS = true;
layout(constant_id = VKF_ID_OUTPUT_WORDS) const bool O_IN_WORDS = true;

const uint SUBGROUPS = WORKGROUP_SIZE / LANES;
const uint SUBGROUP_ROWS = ROW_TILES * MATRIX_ROWS;
const uint TILE_ROWS = SUBGROUPS * SUBGROUP_ROWS;
const uint TILE_KEYS = KEY_TILES * MATRIX_COLUMNS;
const uint KEY_DEPTHS = TILE_KEYS / MATRIX_DEPTH; // products that take in the keys of a tile
const uint DIM_TILES = VKF_MATRIX_TILES(HEAD_DIM, MATRIX_DEPTH);
const uint VALUE_TILES = VKF_MATRIX_TILES(VALUE_DIM, MATRIX_COLUMNS);

// The keys of a tile are dealt to the columns of its matrices so that those of an invocation follow each other, and
// what is given for each key, a bias or a mask, is read in few pieces. Of a row an invocation has LANE_KEYS keys, from
// laneKey on: those of SLOT_ELEMENTS elements of the first matrix, then of the next one.
const uint LANE_KEYS = KEY_TILES * SLOT_ELEMENTS;

// The key of a column, in the tile.
uint tileKey(const uint column) {
    uint key = column / MATRIX_COLUMNS * SLOT_ELEMENTS;
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

uint laneKey(const uint lane) {
    return tileKey(lanePlace(lane).y);
}

// Of the rows that an invocation has a part of, as m_row counts: how far from the first, packed.
uint laneRow(const uint row) {
    return row / SLOTS * MATRIX_ROWS + placeOf(row % SLOTS * SLOT_ELEMENTS, ELEMENT_BASIS).x;
}

// The row of an element of scores, as m_row counts.
uint rowOf(const uint matrix, const uint element) {
    return matrix / KEY_TILES * SLOTS + element / SLOT_ELEMENTS;
}

// Of an element of one of the matrices side by side, counted from the lane's first.
uint elementKey(const uint matrix, const uint element) {
    return matrix * SLOT_ELEMENTS + element % SLOT_ELEMENTS;
}

#endif
