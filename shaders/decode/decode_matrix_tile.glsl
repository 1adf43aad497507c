// SPDX-License-Identifier: MIT
//
// The tile of the decode kernel on matrices: what each invocation loads and holds.
//
// Matrices are transposed. s = k q^T has a row for each key and a column for each packed row of q. o = v^T p has a row
// for each column of v. There are few query rows, and they take the side of a matrix that the device makes narrow.
// There is much of k and v, and both are left operands:
//
//     k     MATRIX_ROWS keys x MATRIX_DEPTH depths       q    MATRIX_DEPTH depths x MATRIX_COLUMNS query rows
//     v     MATRIX_ROWS columns x MATRIX_DEPTH keys      p    MATRIX_DEPTH keys x MATRIX_COLUMNS query rows
//
// Matrices have as many rows as depths, so that the keys of s are the keys of p. The kernel fills matrices from
// registers, in an order of depths and columns that suits the loads. A sum over depths does not depend on their order.
// Columns of o get their order when they are stored. `word` counts the words of 16 bytes that an invocation loads of a
// row. An invocation holds:
//
//     k     LEFT_SLOTS keys. DEPTH_LANES neighbouring lanes share a key. Each of their words has SLOT_ELEMENTS depths
//           for each of WORD_DEPTHS matrices.
//     v     SLOT_ELEMENTS keys. Lanes that are DEPTH_LANES apart share a key. Each of their words has LEFT_SLOTS
//           columns for each of WORD_COLUMNS matrices.
//     q     QUERY_SLOTS rows, spread like k. A right operand has the element layout of a left one, transposed
//           (matrix_layout.glsl).
//     s, p  The scores of the LEFT_SLOTS keys of its k, for ROW_ELEMENTS query rows in each of ROW_TILES matrices.
//
// Query rows are assigned to the columns of the matrices so that the first DEPTH_LANES rows belong to the first element
// of each lane. So a matrix with few query rows needs arithmetic for few of its elements. An invocation keeps the state
// of STATES rows.
//
// The low bits of a lane's number choose a depth, the other bits choose a key. The low bits of a key's number come from
// the lane.
//
// Needs: common/element.glsl, matrix/matrix_layout.glsl.
// Provides: the sizes of the tile, stateOf, rowOfColumn, halfOf.
#ifndef VKF_DECODE_MATRIX_TILE_GLSL
#define VKF_DECODE_MATRIX_TILE_GLSL

#include "matrix/matrix_layout.glsl"

layout(constant_id = VKF_ID_ROW_SUBGROUPS) const uint ROW_SUBGROUPS = 1;
layout(constant_id = VKF_ID_ROW_TILES) const uint ROW_TILES = 1; // matrices of query rows that a subgroup owns
layout(constant_id = VKF_ID_STATES) const uint STATES = 2; // query rows of an invocation that may exist
layout(constant_id = VKF_ID_WHOLE_WORDS) const bool WHOLE_WORDS = true;

const uint SUBGROUPS = WORKGROUP_SIZE / LANES;
const uint KEY_SUBGROUPS = SUBGROUPS / ROW_SUBGROUPS;
const uint SUBGROUP_ROWS = ROW_TILES * MATRIX_COLUMNS;
const uint TILE_ROWS = ROW_SUBGROUPS * SUBGROUP_ROWS;
const uint TILE_KEYS = KEY_SUBGROUPS * MATRIX_ROWS;

const uint LEFT_ELEMENTS = MATRIX_ROWS * MATRIX_DEPTH / LANES;
const uint LEFT_SLOTS = LEFT_ELEMENTS / SLOT_ELEMENTS;
const uint RIGHT_ELEMENTS = MATRIX_DEPTH * MATRIX_COLUMNS / LANES;
const uint QUERY_SLOTS = RIGHT_ELEMENTS / SLOT_ELEMENTS;
const uint ROW_ELEMENTS = ELEMENTS / LEFT_SLOTS;
const uint STATE_FOURS = (STATES + 3) / 4;

const uint DEPTH_LANES = COLUMN_LANES + 1;
const uint ROW_LANES = LANES / DEPTH_LANES;
const uint WORD_DEPTHS = 8 / SLOT_ELEMENTS; // matrices that a word has elements of
const uint WORD_COLUMNS = 8 / LEFT_SLOTS;
const uint K_LANE_WORDS = VKF_LANE_WORDS(HEAD_DIM, VKF_STORED_F16, DEPTH_LANES);
const uint V_LANE_WORDS = VKF_LANE_WORDS(VALUE_DIM, VKF_STORED_F16, ROW_LANES);
const uint DIM_TILES = K_LANE_WORDS * WORD_DEPTHS;
const uint VALUE_TILES = V_LANE_WORDS * WORD_COLUMNS;

// The state that an element of a result belongs to.
uint stateOf(const uint row_tile, const uint element) {
    return row_tile * ROW_ELEMENTS + element % ROW_ELEMENTS;
}

// The subgroup's row that stands in a column of matrix number row_tile.
uint rowOfColumn(const uint row_tile, const uint column) {
    uint element = 0;
    uint depth_lane = 0;
    UNROLL for (uint bit = 0; bit < 4; bit++) {
        if (1u << bit < ROW_ELEMENTS && (column & elementPlace(1u << bit).y) != 0) {
            element |= 1u << bit;
        }
        if (1u << bit < DEPTH_LANES && (column & lanePlace(1u << bit).y) != 0) {
            depth_lane |= 1u << bit;
        }
    }
    return stateOf(row_tile, element) * DEPTH_LANES + depth_lane;
}

// Element 0 to 7 of a word. The function compares numbers, because a vector that a variable indexes may live in memory.
// See docs/tuning.md, "What else keeps arrays of matrices in memory".
Half halfOf(const uvec4 word, const uint element) {
    uint pair = element < 4 ? (element < 2 ? word.x : word.y) : (element < 6 ? word.z : word.w);
    if (MATRICES_ARE_BF16) {
        vec2 x = unpackBf16(pair);
        return Half(element % 2 == 0 ? x.x : x.y);
    }
    f16vec2 halves = unpackFloat2x16(pair);
    return element % 2 == 0 ? halves.x : halves.y;
}

#endif
