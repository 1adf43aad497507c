// SPDX-License-Identifier: MIT
//
// The tile of the decode kernel on matrices: what each invocation loads and holds.
//
// Matrices are transposed. s = k q^T has a row for each key and a column for each packed row of q. o = v^T p has a row
// for each column of v. There are few packed rows, and they take the side of a matrix that the device makes narrow.
// There is much of k and v, and both are left operands:
//
//     k     MATRIX_ROWS keys x MATRIX_DEPTH columns of k        q    MATRIX_DEPTH columns x packed rows
//     v     MATRIX_ROWS columns of v x MATRIX_DEPTH keys        p    MATRIX_DEPTH keys x packed rows
//
// **Two columns of a key.** If the packed rows fill at most half of the columns of a matrix, a matrix may have pairs of
// columns of v (KEY_COLUMNS = 2). Then two columns of the left operand v^T, and two rows of p, stand for one key. For
// key i, column 2i + j of v^T has column j of each pair. Column 2r + j of p is packed row r. It has p of row r and key
// i in row 2i + j, and 0 in the key's other row. So column 2r + j of o = v^T p has column j of each pair, for row r,
// and no multiplication is wasted. Neighbouring columns of a key are in one word of 4 bytes, as they are in memory, and
// o takes half of the registers.
//
// Matrices have as many rows as MATRIX_DEPTH, so that the keys of s are the keys of p. The kernel fills matrices from
// registers, in an order of columns that suits the loads. The sums of a product do not depend on the order of their
// terms. Columns of o get their order when they are stored. `word` counts the words of 16 bytes that an invocation
// loads of a row. An invocation holds:
//
//     k     LEFT_FRAGMENT_ROWS keys. DEPTH_LANES neighbouring lanes share a key. Each of their words has
//           FRAGMENT_ROW_ELEMENTS columns for each of WORD_MATRICES matrices.
//     v     VALUE_KEYS keys, P_LANE_KEYS of them for each of P_MATRICES matrices of p. Lanes that are DEPTH_LANES apart
//           share a key. Its columns are in VALUE_MATRICES matrices, LEFT_FRAGMENT_ROWS columns or pairs of columns in
//           each.
//     q     Q_FRAGMENT_ROWS rows, spread like k. A right operand has the element layout of a left one, transposed
//           (matrix_layout.glsl).
//     s     The scores of the LEFT_FRAGMENT_ROWS keys of its k, for ROW_ELEMENTS of its rows in each of ROW_MATRICES
//           matrices.
//     o     OUTPUT_LANE_ROWS of the same rows in each of OUTPUT_MATRICES times VALUE_MATRICES matrices.
//
// A lane row is one of the rows of which an invocation has elements, counted in the invocation. Packed rows are
// assigned to the columns of the matrices so that the first LANE_ROW_STRIDE rows are lane row 0 of their lanes. So a
// matrix with few rows needs arithmetic for few of its elements. An invocation keeps the state of LANE_ROWS rows. In
// most layouts, an invocation has both columns of a pair. Otherwise (SPLIT_COLUMN_PAIRS) two lanes have the same rows,
// one for each column, and q has its rows twice.
#ifndef VKF_DECODE_MATRIX_TILE_GLSL
#define VKF_DECODE_MATRIX_TILE_GLSL

#include "matrix/matrix_layout.glsl"

layout(constant_id = VKF_ID_ROW_SUBGROUPS) const uint ROW_SUBGROUPS = 1;
layout(constant_id = VKF_ID_ROW_MATRICES) const uint ROW_MATRICES = 1; // matrices of packed rows that a subgroup owns
layout(constant_id = VKF_ID_LANE_ROWS) const uint LANE_ROWS = 2;       // lane rows that may exist
layout(constant_id = VKF_ID_WHOLE_WORDS) const bool WHOLE_WORDS = true;
layout(constant_id = VKF_ID_KEY_COLUMNS) const uint KEY_COLUMNS = 1;

const uint PAIR_ELEMENTS = ELEMENT_COLUMNS & 1; // 1 if neighbouring elements are in neighbouring columns
const bool SPLIT_COLUMN_PAIRS = KEY_COLUMNS == 2 && PAIR_ELEMENTS == 0;
const uint LANE_COLUMNS = SPLIT_COLUMN_PAIRS ? 1 : KEY_COLUMNS; // columns of a pair that an invocation has

const uint SUBGROUPS = WORKGROUP_SIZE / LANES;
const uint KEY_SUBGROUPS = SUBGROUPS / ROW_SUBGROUPS;
const uint MATRIX_PACKED_ROWS = VKF_DECODE_MATRIX_PACKED_ROWS(MATRIX_COLUMNS, SPLIT_COLUMN_PAIRS);
const uint SUBGROUP_ROWS = ROW_MATRICES * MATRIX_PACKED_ROWS;
const uint TILE_ROWS = ROW_SUBGROUPS * SUBGROUP_ROWS;
const uint TILE_KEYS = KEY_SUBGROUPS * MATRIX_ROWS;

const uint LEFT_ELEMENTS = MATRIX_ROWS * MATRIX_DEPTH / LANES;
const uint LEFT_FRAGMENT_ROWS = LEFT_ELEMENTS / FRAGMENT_ROW_ELEMENTS;
const uint RIGHT_ELEMENTS = MATRIX_DEPTH * MATRIX_COLUMNS / LANES;
const uint Q_FRAGMENT_ROWS = RIGHT_ELEMENTS / FRAGMENT_ROW_ELEMENTS;
const uint ROW_ELEMENTS = ELEMENTS / LEFT_FRAGMENT_ROWS;
const uint LANE_ROW_VEC4S = (LANE_ROWS + 3) / 4;

const uint DEPTH_LANES = COLUMN_LANES + 1;
const uint ROW_LANES = LANES / DEPTH_LANES;
const uint WORD_MATRICES = 8 / FRAGMENT_ROW_ELEMENTS; // matrices that a word has elements of
const uint K_LANE_WORDS = VKF_LANE_WORDS(HEAD_DIM, VKF_STORED_F16, DEPTH_LANES);
const uint V_LANE_WORDS = VKF_LANE_WORDS(VALUE_DIM, VKF_STORED_F16, ROW_LANES);
const uint DIM_MATRICES = K_LANE_WORDS * WORD_MATRICES;

const uint P_MATRICES = KEY_COLUMNS; // matrices of p for the keys of a tile
const uint P_MATRIX_KEYS = MATRIX_DEPTH / KEY_COLUMNS;
const uint P_LANE_KEYS = FRAGMENT_ROW_ELEMENTS / LANE_COLUMNS; // keys that an invocation has in a matrix of p
const uint VALUE_KEYS = P_MATRICES * P_LANE_KEYS;
const uint V_LANE_COLUMN_PAIRS = V_LANE_WORDS * 4;                           // of columns
const uint V_LANE_COLUMN_GROUPS = V_LANE_WORDS * 8 / KEY_COLUMNS;            // of KEY_COLUMNS columns each
const uint MATRIX_COLUMN_PAIRS = (LEFT_FRAGMENT_ROWS * KEY_COLUMNS + 1) / 2; // of columns of a key, in a matrix of v
const uint VALUE_MATRICES = (V_LANE_COLUMN_GROUPS + LEFT_FRAGMENT_ROWS - 1) / LEFT_FRAGMENT_ROWS;

const uint LANE_ROW_STRIDE = VKF_LANE_ROW_STRIDE(DEPTH_LANES, SPLIT_COLUMN_PAIRS);
const uint OUTPUT_LANE_ROWS = ROW_ELEMENTS / LANE_COLUMNS;
const uint OUTPUT_MATRICES = KEY_COLUMNS == 2 ? 1 : ROW_MATRICES;

// The lane row that an element of s belongs to.
uint laneRowOf(const uint row_matrix, const uint element) {
    return row_matrix * ROW_ELEMENTS + element % ROW_ELEMENTS;
}

// The lane row that an element of o belongs to.
uint laneRowOfOutput(const uint output_matrix, const uint element) {
    return output_matrix * OUTPUT_LANE_ROWS + element % ROW_ELEMENTS / LANE_COLUMNS;
}

// Who has a column of a result: the number of the element in its row, and the number of the lane among the lanes that
// have different rows.
uvec2 holderOfColumn(const uint column) {
    if (SPLIT_COLUMN_PAIRS) {
        return uvec2(0, column / 2);
    }
    uvec2 holder = uvec2(0);
    UNROLL for (uint bit = 0; bit < 4; bit++) {
        if ((1u << bit) < ROW_ELEMENTS && (column & elementPosition(1u << bit).y) != 0) {
            holder.x |= 1u << bit;
        }
        if ((1u << bit) < DEPTH_LANES && (column & lanePosition(1u << bit).y) != 0) {
            holder.y |= 1u << bit;
        }
    }
    return holder;
}

// The subgroup's row that stands in a column of matrix number row_matrix of q and s.
uint rowOfColumn(const uint row_matrix, const uint column) {
    uvec2 holder = holderOfColumn(column);
    return laneRowOf(row_matrix, holder.x) * LANE_ROW_STRIDE + holder.y;
}

// The subgroup's row that stands in a column of matrix number output_matrix of p and o.
uint rowOfOutput(const uint output_matrix, const uint column) {
    uvec2 holder = holderOfColumn(column);
    return laneRowOfOutput(output_matrix, holder.x) * LANE_ROW_STRIDE + holder.y;
}

// Element 0 or 1 of two 16-bit elements.
Half halfOfUint(const uint bits, const uint element) {
    f16vec2 halves = unpackFloat2x16(bits);
    return element == 0 ? halves.x : halves.y;
}

// Element 0 to 7 of a word. The function compares numbers, because a vector that a variable indexes may live in memory.
// See docs/kernel_rules.md, "What else keeps arrays of matrices in memory".
Half halfOf(const uvec4 word, const uint element) {
    return halfOfUint(element < 4 ? (element < 2 ? word.x : word.y) : (element < 6 ? word.z : word.w), element % 2);
}

#endif
