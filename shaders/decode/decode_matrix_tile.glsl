// SPDX-License-Identifier: MIT
//
// The tile of the decode kernel on matrices: which invocation loads what.
//
// Matrices stand on their side. s = k q^T has a row for each key and a column for each packed row of q; o = v^T p has a
// row for each column of v. So the side of a matrix that the device makes narrow takes query rows, of which there are
// few, and k and v, of which there is much, are left operands both:
//
//     k     MATRIX_ROWS keys x MATRIX_DEPTH depths       q    MATRIX_DEPTH depths x MATRIX_COLUMNS query rows
//     v     MATRIX_ROWS columns x MATRIX_DEPTH keys      p    MATRIX_DEPTH keys x MATRIX_COLUMNS query rows
//
// with as many rows as depths, so that the keys of s are those of p. Matrices are filled from registers, in an order of
// depths and of columns that suits the loads: sums over depths do not mind, and columns of o are put in order when they
// are stored. With `word` counting the words of 16 bytes that an invocation loads of a row, it holds
//
//     k     LEFT_SLOTS keys; DEPTH_LANES neighbouring lanes share one, each word of theirs has SLOT_ELEMENTS
//           depths for each of WORD_DEPTHS matrices
//     v     SLOT_ELEMENTS keys; lanes DEPTH_LANES apart share one, each word of theirs has LEFT_SLOTS columns
//           for each of WORD_COLUMNS matrices
//     q     QUERY_SLOTS rows, spread like k: right operands are laid out as left ones transposed (matrix_layout.glsl)
//     s, p  of LEFT_SLOTS keys, those of its k, the scores of ROW_ELEMENTS query rows in each of ROW_TILES matrices
//
// Query rows are dealt to the columns of the matrices so that the first DEPTH_LANES of them are those of the first
// element of each lane: of a matrix with as few rows only so many elements are worth any arithmetic, and an invocation
// keeps the state of STATES rows.
//
// The low bits of a lane's number choose a depth, the others a key; of a key's number the low bits are the lane's.
//
// Needs: common/element.glsl, matrix/matrix_layout.glsl.
// Provides: the sizes of the tile, stateOf, rowOfColumn, halfOf.
#ifndef VKF_DECODE_MATRIX_TILE_GLSL
#define VKF_DECODE_MATRIX_TILE_GLSL

#include "matrix/matrix_layout.glsl"

layout(constant_id = VKF_ID_ROW_SUBGROUPS) const uint ROW_SUBGROUPS = 1;
layout(constant_id = VKF_ID_ROW_TILES) const uint ROW_TILES = 1; // matrices of query rows of a subgroup
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
const uint WORD_DEPTHS = 8 / SLOT_ELEMENTS; // matrices
const uint WORD_COLUMNS = 8 / LEFT_SLOTS;
const uint K_LANE_WORDS = VKF_LANE_WORDS(HEAD_DIM, TYPE_Q, DEPTH_LANES);
const uint V_LANE_WORDS = VKF_LANE_WORDS(VALUE_DIM, TYPE_Q, ROW_LANES);
const uint DIM_TILES = K_LANE_WORDS * WORD_DEPTHS;
const uint VALUE_TILES = V_LANE_WORDS * WORD_COLUMNS;

// Which of an invocation's rows an element of a result belongs to.
uint stateOf(const uint row_tile, const uint element) {
    return row_tile * ROW_ELEMENTS + element % ROW_ELEMENTS;
}

// The subgroup's row that is this column of a matrix.
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

// Element 0 to 7 of a word. It compares numbers, because a vector indexed by a variable may live in memory
// (docs/tuning.md, "What else keeps arrays of matrices in memory").
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
