// SPDX-License-Identifier: MIT
//
// The element layout: which invocation holds which element of a cooperative matrix.
//
// The extension leaves the layout to the driver. There are two cases:
//   - The layout is known, from a table (src/device/matrix_layout.cpp) or by a measurement
//     (src/host/matrices/element_layout.comp). Then rows are reduced, and P turns from a result into an operand,
//     without going through memory (coopmat/elements_in_registers.glsl).
//   - The layout is unknown. Then shared memory brings the scores into a known layout
//     (coopmat/attention_via_shared.comp).
//
// A layout is linear in the bits of lane and element: each bit that is set adds rows or columns. Elements of an
// invocation that lie in one row have consecutive numbers. They form a fragment row of FRAGMENT_ROW_ELEMENTS elements.
// Lanes hold the same rows if their numbers differ only in bits of COLUMN_LANES.
//
// Example: NVIDIA, matrices of 16 x 16 over 32 lanes, each lane with 8 elements. The table has the (row, column) that
// each bit adds:
//
//     bit of the element   1: (0, 1)   2: (0, 8)   4: (8, 0)                                ELEMENT_BASIS   0x00088010
//     bit of the lane      1: (0, 2)   2: (0, 4)   4: (1, 0)   8: (2, 0)   16: (4, 0)       LANE_BASIS      0x02014020
//                                                                                           LANE_BASIS_HIGH       0x04
//     lane 13 = 8 + 4 + 1          (2, 0) + (1, 0) + (0, 2) = (3, 2)
//     element 5 = 4 + 1            (8, 0) + (0, 1)          = (8, 1)
//     element 5 of lane 13         (3, 2) + (8, 1)          = row 11, column 3
//
// The fragment row of element 5 of lane 13 is elements 4 to 7: row 11, columns 2, 3, 10, 11. COLUMN_LANES is 3, so
// lanes 12 to 15 hold the rest of row 11.
//
// Example: llvmpipe, matrices of 8 x 8 over 8 lanes. Bits of the element add rows 1, 2, 4; bits of the lane add columns
// 1, 2, 4. Element 6 of lane 5 is row 6, column 5. A fragment row has one element.
//
// tests/device/matrix_layout_test.cpp tests both examples.
#ifndef VKF_MATRIX_LAYOUT_GLSL
#define VKF_MATRIX_LAYOUT_GLSL

layout(constant_id = VKF_ID_MATRIX_ROWS) const uint MATRIX_ROWS = 16;
layout(constant_id = VKF_ID_MATRIX_COLUMNS) const uint MATRIX_COLUMNS = 16;
layout(constant_id = VKF_ID_MATRIX_DEPTH) const uint MATRIX_DEPTH = 16;
layout(constant_id = VKF_ID_FRAGMENT_ROW_ELEMENTS) const uint FRAGMENT_ROW_ELEMENTS = 4;
layout(constant_id = VKF_ID_COLUMN_LANES) const uint COLUMN_LANES = 3;
layout(constant_id = VKF_ID_ELEMENT_BASIS) const uint ELEMENT_BASIS = 0;
layout(constant_id = VKF_ID_LANE_BASIS) const uint LANE_BASIS = 0;
layout(constant_id = VKF_ID_LANE_BASIS_HIGH) const uint LANE_BASIS_HIGH = 0;

const uint ELEMENTS = MATRIX_ROWS * MATRIX_COLUMNS / LANES;  // elements of a matrix in an invocation
const uint FRAGMENT_ROWS = ELEMENTS / FRAGMENT_ROW_ELEMENTS; // rows of a matrix in an invocation
// Bits of the column number that the element decides. The lane decides the others.
const uint ELEMENT_COLUMNS =
    ((ELEMENT_BASIS >> 4) | (ELEMENT_BASIS >> 12) | (ELEMENT_BASIS >> 20) | (ELEMENT_BASIS >> 28)) & 15u;

// Shaders are written for fp16 matrices, and src/pipelines/bfloat16_matrices.hpp turns fp16 into bf16 in their SPIR-V.
// Code that rounds or computes differently for bf16 asks this constant.
#ifdef VKF_BF16X3
layout(constant_id = VKF_ID_PARTS_ARE_BF16) const bool MATRICES_ARE_BF16 = true;
#else
const bool MATRICES_ARE_BF16 = VKF_MATRIX_TYPE(TYPE_Q, TYPE_K, TYPE_V) == VKF_STORED_BF16;
#endif
#define Half float16_t

// The upper 16 bits are a probability as bf16, rounded to nearest, ties up. The macro works on integers, because one
// driver's conversion to bf16 was seen to truncate.
#define BF16_BITS(p) (floatBitsToUint(p) + 0x8000u)

// The upper 16 bits of a word as an element of a matrix. NVIDIA's compiler shifts a number before it converts it to
// bf16. It does not shift these bits, because one instruction packs the upper halves of two words.
#define UPPER_HALF(bits) unpackFloat2x16(bits).y

#define ResultMatrix coopmat<float, gl_ScopeSubgroup, MATRIX_ROWS, MATRIX_COLUMNS, gl_MatrixUseAccumulator>
#define LeftMatrix coopmat<Half, gl_ScopeSubgroup, MATRIX_ROWS, MATRIX_DEPTH, gl_MatrixUseA>
#define RightMatrix coopmat<Half, gl_ScopeSubgroup, MATRIX_DEPTH, MATRIX_COLUMNS, gl_MatrixUseB>

// The row and column, as (x, y), that the low four bits of a number add. `basis` has a byte for each bit: its row in
// the low half, its column in the high half.
uvec2 positionOf(const uint number, const uint basis) {
    uvec2 position = uvec2(0);
    UNROLL for (uint bit = 0; bit < 4; bit++) {
        position += ((number >> bit) & 1u) * uvec2((basis >> (8 * bit)) & 15u, (basis >> (8 * bit + 4)) & 15u);
    }
    return position;
}

// The row and column that an element adds to those of its lane.
uvec2 elementPosition(const uint element) {
    return positionOf(element, ELEMENT_BASIS);
}

// The row and column of element 0 of a lane.
uvec2 lanePosition(const uint lane) {
    return positionOf(lane, LANE_BASIS) + positionOf(lane >> 4, LANE_BASIS_HIGH);
}

// The rows that a fragment row adds to the row of its lane.
uint fragmentRow(const uint fragment_row) {
    return positionOf(fragment_row * FRAGMENT_ROW_ELEMENTS, ELEMENT_BASIS).x;
}

// The maximum over the lanes that hold the same rows.
float maxOverColumns(float x) {
    UNROLL for (uint lanes = 1; lanes < LANES; lanes *= 2) {
        if ((COLUMN_LANES & lanes) != 0) {
            x = max(x, subgroupShuffleXor(x, lanes));
        }
    }
    return x;
}

// The sum over the lanes that hold the same rows.
float sumOverColumns(float x) {
    UNROLL for (uint lanes = 1; lanes < LANES; lanes *= 2) {
        if ((COLUMN_LANES & lanes) != 0) {
            x += subgroupShuffleXor(x, lanes);
        }
    }
    return x;
}

#endif
