// SPDX-License-Identifier: MIT
//
// Where the elements of a matrix lie.
//
// The extension leaves to the driver which invocation holds which element; where the layout is known
// (src/device/matrix_layout.cpp), rows can be reduced and P turned from a result into an operand without going
// through memory (matrix_registers.glsl). Elsewhere shared memory brings the scores into a layout of our own
// (matrix_exchange.glsl). A layout is linear in the bits of lane and element: each bit that is set adds a row or a
// column. Elements of an invocation that lie in one row are neighbours, a slot; lanes that differ in
// COLUMN_LANES only hold the same rows.
#ifndef VKF_MATRIX_LAYOUT_GLSL
#define VKF_MATRIX_LAYOUT_GLSL

layout(constant_id = VKF_ID_MATRIX_ROWS) const uint MATRIX_ROWS = 16;
layout(constant_id = VKF_ID_MATRIX_COLUMNS) const uint MATRIX_COLUMNS = 16;
layout(constant_id = VKF_ID_MATRIX_DEPTH) const uint MATRIX_DEPTH = 16;
layout(constant_id = VKF_ID_SLOT_ELEMENTS) const uint SLOT_ELEMENTS = 4;
layout(constant_id = VKF_ID_COLUMN_LANES) const uint COLUMN_LANES = 3;
layout(constant_id = VKF_ID_ELEMENT_BASIS) const uint ELEMENT_BASIS = 0;
layout(constant_id = VKF_ID_LANE_BASIS) const uint LANE_BASIS = 0;
layout(constant_id = VKF_ID_LANE_BASIS_HIGH) const uint LANE_BASIS_HIGH = 0;

const uint ELEMENTS = MATRIX_ROWS * MATRIX_COLUMNS / LANES; // that an invocation holds of a matrix
const uint SLOTS = ELEMENTS / SLOT_ELEMENTS;                // rows of a matrix that an invocation holds a part of
// Bits of a column that the element chooses; lanes choose the others.
const uint ELEMENT_COLUMNS = (ELEMENT_BASIS >> 4 | ELEMENT_BASIS >> 12 | ELEMENT_BASIS >> 20 | ELEMENT_BASIS >> 28) & 15u;

// Matrices are of the type of q. Their fp16 becomes bf16 before the driver sees the shader
// (src/pipelines/bfloat16_matrices.hpp); what is rounded or computed by other rules then asks here.
const bool MATRICES_ARE_BF16 = TYPE_Q == VKF_STORED_BF16;
#define Half float16_t
#define ResultMatrix coopmat<float, gl_ScopeSubgroup, MATRIX_ROWS, MATRIX_COLUMNS, gl_MatrixUseAccumulator>
#define LeftMatrix coopmat<Half, gl_ScopeSubgroup, MATRIX_ROWS, MATRIX_DEPTH, gl_MatrixUseA>
#define RightMatrix coopmat<Half, gl_ScopeSubgroup, MATRIX_DEPTH, MATRIX_COLUMNS, gl_MatrixUseB>

// Row and column in a matrix, as (x, y): the sum of the places of a number's set bits, of which `basis` holds four.
uvec2 placeOf(const uint number, const uint basis) {
    uvec2 place = uvec2(0);
    UNROLL for (uint bit = 0; bit < 4; bit++) {
        place += (number >> bit & 1u) * uvec2(basis >> 8 * bit & 15u, basis >> 8 * bit + 4 & 15u);
    }
    return place;
}

uvec2 elementPlace(const uint element) {
    return placeOf(element, ELEMENT_BASIS);
}

uvec2 lanePlace(const uint lane) {
    return placeOf(lane, LANE_BASIS) + placeOf(lane >> 4, LANE_BASIS_HIGH);
}

// Row of a slot, less what the lane adds.
uint slotRow(const uint slot) {
    return placeOf(slot * SLOT_ELEMENTS, ELEMENT_BASIS).x;
}

// Among the lanes that hold the same rows.
float maxOverColumns(float x) {
    UNROLL for (uint lanes = 1; lanes < LANES; lanes *= 2) {
        if ((COLUMN_LANES & lanes) != 0) {
            x = max(x, subgroupShuffleXor(x, lanes));
        }
    }
    return x;
}

float sumOverColumns(float x) {
    UNROLL for (uint lanes = 1; lanes < LANES; lanes *= 2) {
        if ((COLUMN_LANES & lanes) != 0) {
            x += subgroupShuffleXor(x, lanes);
        }
    }
    return x;
}

#endif
