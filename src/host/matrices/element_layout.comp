// SPDX-License-Identifier: MIT
//
// Finds out which invocation holds which element of a cooperative matrix, and tests what was found. There are three
// workgroups, one for each matrix of a product: result, left operand, right operand. A workgroup is one subgroup.
//
// To measure, the workgroup loads its matrix twice: with the row of each element as its value, and with the column.
// Each invocation writes out which places its elements have.
//
// To test, the workgroup multiplies known matrices. Its own matrix passes through registers: an operand is filled by
// the places that the test assumes, and a result is written out by them. The other matrices pass through memory alone.
// The elements of its own matrix all differ, and the product shows each of them, so that no wrong place goes unseen.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#ifdef VKF_BFLOAT16
#extension GL_EXT_bfloat16 : require
#define Half bfloat16_t
#else
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define Half float16_t
#endif

#include "host/matrices/element_layout_params.h"

layout(local_size_x_id = VKF_ELEMENT_ID_LANES) in;

layout(constant_id = VKF_ELEMENT_ID_LANES) const uint LANES = 32;
layout(constant_id = VKF_ELEMENT_ID_ROWS) const uint ROWS = 16;
layout(constant_id = VKF_ELEMENT_ID_COLUMNS) const uint COLUMNS = 16;
layout(constant_id = VKF_ELEMENT_ID_DEPTH) const uint DEPTH = 16;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Sections {
    uint word[];
};

layout(push_constant, std430) uniform PushConstants {
    ElementLayoutParams params;
};

#define ResultMatrix coopmat<float, gl_ScopeSubgroup, ROWS, COLUMNS, gl_MatrixUseAccumulator>
#define LeftMatrix coopmat<Half, gl_ScopeSubgroup, ROWS, DEPTH, gl_MatrixUseA>
#define RightMatrix coopmat<Half, gl_ScopeSubgroup, DEPTH, COLUMNS, gl_MatrixUseB>

// One matrix on its way between registers and memory: in 16 bits for operands, in 32 bits for results. There is room for
// all three, because the size of an array cannot be a maximum.
shared uvec4 stage[(ROWS * DEPTH + DEPTH * COLUMNS) / 8 + ROWS * COLUMNS / 4];

// What stageMatrix writes: a part of each element's place, or its value in the test of this workgroup's matrix.
#define STAGE_ROWS 0
#define STAGE_COLUMNS 1
#define STAGE_VALUES 2

uint tested; // the matrix of this workgroup
uint lane;

uvec2 sizeOf(const uint matrix) {
    return uvec2(matrix == VKF_ELEMENT_RIGHT ? DEPTH : ROWS, matrix == VKF_ELEMENT_LEFT ? DEPTH : COLUMNS);
}

uint wordAt(const uint section, const uint index) {
    return section * VKF_ELEMENT_SECTION_WORDS + index;
}

uint readWord(const uint section, const uint index) {
    return Sections(params.memory).word[wordAt(section, index)];
}

void writeWord(const uint section, const uint index, const uint value) {
    Sections(params.memory).word[wordAt(section, index)] = value;
}

// A whole number up to 256 in 16 bits.
uint halfBits(const float x) {
#ifdef VKF_BFLOAT16
    return floatBitsToUint(x) >> 16;
#else
    return packHalf2x16(vec2(x, 0.0));
#endif
}

float stagedValue(const uint matrix, const uint what, const uint row, const uint column) {
    uvec2 size = sizeOf(matrix);
    return what == STAGE_ROWS      ? float(row)
           : what == STAGE_COLUMNS ? float(column)
                                   : float(elementValue(tested, matrix, row, column, size.x, size.y));
}

// Writes a matrix to shared memory, row by row.
void stageMatrix(const uint matrix, const uint what) {
    bool halves = matrix != VKF_ELEMENT_RESULT;
    uint word_elements = halves ? 8 : 4;
    uvec2 size = sizeOf(matrix);
    barrier();
    for (uint i = lane; i < size.x * size.y / word_elements; i += LANES) {
        uvec4 word = uvec4(0);
        for (uint e = 0; e < word_elements; e++) {
            uint number = i * word_elements + e;
            float x = stagedValue(matrix, what, number / size.y, number % size.y);
            if (halves) {
                word[e / 2] |= halfBits(x) << e % 2 * 16;
            } else {
                word[e] = floatBitsToUint(x);
            }
        }
        stage[i] = word;
    }
    barrier();
}

// Loads a matrix that stageMatrix wrote.
#define LOAD_STAGED(loaded, matrix, what)                                                                              \
    stageMatrix(matrix, what);                                                                                         \
    coopMatLoad(loaded, stage, 0, sizeOf(matrix).y / (matrix == VKF_ELEMENT_RESULT ? 4 : 8),                           \
                gl_CooperativeMatrixLayoutRowMajor)

// Writes out the place of each element that this invocation has.
#define MEASURE(Matrix, matrix)                                                                                        \
    Matrix rows;                                                                                                       \
    Matrix columns;                                                                                                    \
    LOAD_STAGED(rows, matrix, STAGE_ROWS);                                                                             \
    LOAD_STAGED(columns, matrix, STAGE_COLUMNS);                                                                       \
    uint elements = uint(rows.length());                                                                               \
    for (uint e = 0; e < elements && lane * elements + e < VKF_ELEMENT_MOST; e++) {                                    \
        writeWord(VKF_ELEMENT_MEASURED + matrix, 1 + lane * elements + e,                                              \
                  VKF_ELEMENT_PLACE(uint(float(rows[e])), uint(float(columns[e]))));                                   \
    }                                                                                                                  \
    writeWord(VKF_ELEMENT_MEASURED + matrix, 0, elements)

// The place that the test assumes for an element of this invocation.
uvec2 assumedPlace(const uint element) {
    uint elements = readWord(VKF_ELEMENT_ASSUMED + tested, 0);
    uint place = readWord(VKF_ELEMENT_ASSUMED + tested, 1 + lane * elements + min(element, elements - 1));
    return uvec2(VKF_ELEMENT_PLACE_ROW(place), VKF_ELEMENT_PLACE_COLUMN(place));
}

// Fills an operand from registers if it is tested, else from memory.
#define FILL_OPERAND(operand, matrix)                                                                                  \
    if (tested == matrix) {                                                                                            \
        for (uint e = 0; e < uint(operand.length()); e++) {                                                            \
            uvec2 place = assumedPlace(e);                                                                             \
            operand[e] = Half(stagedValue(matrix, STAGE_VALUES, place.x, place.y));                                    \
        }                                                                                                              \
        writeWord(VKF_ELEMENT_TESTED + tested, 0, uint(operand.length()));                                             \
    } else {                                                                                                           \
        LOAD_STAGED(operand, matrix, STAGE_VALUES);                                                                    \
    }

// Writes out a product that was computed to test an operand.
void writeStored(const ResultMatrix product) {
    barrier();
    coopMatStore(product, stage, 0, COLUMNS / 4, gl_CooperativeMatrixLayoutRowMajor);
    barrier();
    for (uint i = lane; i < ROWS * COLUMNS; i += LANES) {
        writeWord(VKF_ELEMENT_TESTED + tested, 1 + i, stage[i / 4][i % 4]);
    }
}

// Writes out a product that was computed to test the result.
void writeByPlaces(const ResultMatrix product) {
    for (uint e = 0; e < uint(product.length()); e++) {
        uvec2 place = assumedPlace(e);
        writeWord(VKF_ELEMENT_TESTED + tested, 1 + place.x * COLUMNS + place.y, floatBitsToUint(product[e]));
    }
    writeWord(VKF_ELEMENT_TESTED + tested, 0, uint(product.length()));
}

void testMatrix() {
    LeftMatrix left;
    RightMatrix right;
    ResultMatrix result;
    FILL_OPERAND(left, VKF_ELEMENT_LEFT)
    FILL_OPERAND(right, VKF_ELEMENT_RIGHT)
    LOAD_STAGED(result, VKF_ELEMENT_RESULT, STAGE_VALUES);
    result = coopMatMulAdd(left, right, result);
    if (tested == VKF_ELEMENT_RESULT) {
        writeByPlaces(result);
    } else {
        writeStored(result);
    }
}

void main() {
    tested = gl_WorkGroupID.x;
    lane = gl_SubgroupInvocationID;
    if (params.test != 0) {
        testMatrix();
    } else if (tested == VKF_ELEMENT_RESULT) {
        MEASURE(ResultMatrix, VKF_ELEMENT_RESULT);
    } else if (tested == VKF_ELEMENT_LEFT) {
        MEASURE(LeftMatrix, VKF_ELEMENT_LEFT);
    } else {
        MEASURE(RightMatrix, VKF_ELEMENT_RIGHT);
    }
}
