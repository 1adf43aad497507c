// SPDX-License-Identifier: MIT
//
// Finds out which invocation holds which element of a cooperative matrix, and tests what was found. There are three
// workgroups, one for each matrix of a product: result, left operand, right operand. A workgroup is one subgroup.
//
// To measure, the workgroup loads its matrix twice: with the row of each element as its value, and with the column.
// Each invocation writes out which positions its elements have.
//
// To test, the workgroup multiplies known matrices. Its own matrix passes through registers: an operand is filled by
// the positions that the test assumes, and a result is written out by them. The other matrices pass through memory
// alone. The elements of its own matrix all differ, and the product shows each of them, so that no wrong position goes
// unseen.
//
// To test loads, there is a workgroup for each way in which the attention kernels load matrices from shared memory. It
// loads four matrices of a tile, at four offsets, multiplies each, and stores the products at four offsets. A driver
// was seen that loads the matrix at offset 0 whatever the offset (github.com/tracel-ai/cubecl/pull/1444). Neither
// measurement nor test above would notice.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require
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

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Sections { uint word[]; };

layout(push_constant, std430) uniform PushConstants { ElementLayoutParams params; };

#define ResultMatrix coopmat<float, gl_ScopeSubgroup, ROWS, COLUMNS, gl_MatrixUseAccumulator>
#define LeftMatrix coopmat<Half, gl_ScopeSubgroup, ROWS, DEPTH, gl_MatrixUseA>
#define RightMatrix coopmat<Half, gl_ScopeSubgroup, DEPTH, COLUMNS, gl_MatrixUseB>

// One matrix, or a tile of four, on the way between registers and memory: in 16 bits for operands, in 32 bits for
// results. A tile of results needs the most room, or one of columns of the right operand. There is room for both,
// because the size of an array cannot be a maximum.
shared uvec4 stage[2 * ROWS * VKF_ELEMENT_TILE_ROW(COLUMNS, 4) + 2 * COLUMNS * VKF_ELEMENT_TILE_ROW(DEPTH, 8)];

// What stageMatrix writes: a part of each element's position, or its value in the test of this workgroup's matrix.
#define STAGE_ROWS 0
#define STAGE_COLUMNS 1
#define STAGE_VALUES 2

uint tested; // the matrix of this workgroup
uint lane;

uvec2 sizeOf(const uint matrix) {
    return uvec2(matrix == VKF_ELEMENT_RIGHT ? DEPTH : ROWS, matrix == VKF_ELEMENT_LEFT ? DEPTH : COLUMNS);
}

uint wordAt(const uint section, const uint index) { return section * VKF_ELEMENT_SECTION_WORDS + index; }

uint readWord(const uint section, const uint index) { return Sections(params.memory).word[wordAt(section, index)]; }

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

// Writes out the position of each element that this invocation has.
#define MEASURE(Matrix, matrix)                                                                                        \
    Matrix rows;                                                                                                       \
    Matrix columns;                                                                                                    \
    LOAD_STAGED(rows, matrix, STAGE_ROWS);                                                                             \
    LOAD_STAGED(columns, matrix, STAGE_COLUMNS);                                                                       \
    uint elements = uint(rows.length());                                                                               \
    for (uint e = 0; e < elements && lane * elements + e < VKF_ELEMENT_MOST; e++) {                                    \
        writeWord(VKF_ELEMENT_MEASURED + matrix, 1 + lane * elements + e,                                              \
                  VKF_ELEMENT_POSITION(uint(float(rows[e])), uint(float(columns[e]))));                                \
    }                                                                                                                  \
    writeWord(VKF_ELEMENT_MEASURED + matrix, 0, elements)

// The position that the test assumes for an element of this invocation.
uvec2 assumedPosition(const uint element) {
    uint elements = readWord(VKF_ELEMENT_ASSUMED + tested, 0);
    uint position = readWord(VKF_ELEMENT_ASSUMED + tested, 1 + lane * elements + min(element, elements - 1));
    return uvec2(VKF_ELEMENT_POSITION_ROW(position), VKF_ELEMENT_POSITION_COLUMN(position));
}

// Fills an operand from registers if it is tested, else from memory.
#define FILL_OPERAND(operand, matrix)                                                                                  \
    if (tested == matrix) {                                                                                            \
        for (uint e = 0; e < uint(operand.length()); e++) {                                                            \
            uvec2 position = assumedPosition(e);                                                                       \
            operand[e] = Half(stagedValue(matrix, STAGE_VALUES, position.x, position.y));                              \
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
void writeByPositions(const ResultMatrix product) {
    for (uint e = 0; e < uint(product.length()); e++) {
        uvec2 position = assumedPosition(e);
        writeWord(VKF_ELEMENT_TESTED + tested, 1 + position.x * COLUMNS + position.y, floatBitsToUint(product[e]));
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
        writeByPositions(result);
    } else {
        writeStored(result);
    }
}

// The shape of a matrix as it lies in memory: rows, and elements in a row.
uvec2 storedSize(const uint matrix, const bool columns) {
    uvec2 size = sizeOf(matrix);
    return columns ? size.yx : size;
}

uint wordElements(const uint matrix) { return matrix == VKF_ELEMENT_RESULT ? 4 : 8; }

// Words from one row of a tile to the next.
uint tileRow(const uint matrix, const bool columns) {
    return VKF_ELEMENT_TILE_ROW(storedSize(matrix, columns).y, wordElements(matrix));
}

// The first word of a quadrant.
uint quadrantBegin(const uint matrix, const bool columns, const uint quadrant) {
    uvec2 size = storedSize(matrix, columns);
    return quadrant / 2 * size.x * tileRow(matrix, columns) + quadrant % 2 * (size.y / wordElements(matrix));
}

// Writes a tile of four matrices to shared memory, row by row or column by column.
void stageTile(const uint matrix, const bool columns) {
    uint word_elements = wordElements(matrix);
    uvec2 size = storedSize(matrix, columns);
    uint row_words = 2 * size.y / word_elements;
    barrier();
    for (uint i = lane; i < 2 * size.x * row_words; i += LANES) {
        uvec4 word = uvec4(0);
        for (uint e = 0; e < word_elements; e++) {
            uvec2 position = uvec2(i / row_words, i % row_words * word_elements + e);
            uint quadrant = position.x / size.x * 2 + position.y / size.y;
            position = uvec2(position.x % size.x, position.y % size.y);
            position = columns ? position.yx : position;
            uvec2 shape = sizeOf(matrix);
            float x = float(quadrantValue(matrix, quadrant, position.x, position.y, shape.x, shape.y));
            if (word_elements == 8) {
                word[e / 2] |= halfBits(x) << e % 2 * 16;
            } else {
                word[e] = floatBitsToUint(x);
            }
        }
        stage[i / row_words * tileRow(matrix, columns) + i % row_words] = word;
    }
    barrier();
}

// Loads the four matrices of a tile. The loop is unrolled, as in the attention kernels, so that offsets are constants.
#define LOAD_TILE(loaded, matrix, columns, order)                                                                      \
    stageTile(matrix, columns);                                                                                        \
    [[unroll]] for (uint q = 0; q < VKF_ELEMENT_QUADRANTS; q++) {                                                      \
        coopMatLoad(loaded[q], stage, quadrantBegin(matrix, columns, q), tileRow(matrix, columns), order);             \
    }

#define TEST_LEFT_LOADS(columns, order)                                                                                \
    LeftMatrix loaded[VKF_ELEMENT_QUADRANTS];                                                                          \
    LOAD_TILE(loaded, VKF_ELEMENT_LEFT, columns, order)                                                                \
    [[unroll]] for (uint q = 0; q < VKF_ELEMENT_QUADRANTS; q++) {                                                      \
        product[q] = coopMatMulAdd(loaded[q], right, result);                                                          \
    }

#define TEST_RIGHT_LOADS(columns, order)                                                                               \
    RightMatrix loaded[VKF_ELEMENT_QUADRANTS];                                                                         \
    LOAD_TILE(loaded, VKF_ELEMENT_RIGHT, columns, order)                                                               \
    [[unroll]] for (uint q = 0; q < VKF_ELEMENT_QUADRANTS; q++) { product[q] = coopMatMulAdd(left, loaded[q], result); }

void testLoads(const uint kind) {
    LeftMatrix left;
    RightMatrix right;
    ResultMatrix result;
    LOAD_STAGED(left, VKF_ELEMENT_LEFT, STAGE_VALUES);
    LOAD_STAGED(right, VKF_ELEMENT_RIGHT, STAGE_VALUES);
    LOAD_STAGED(result, VKF_ELEMENT_RESULT, STAGE_VALUES);
    ResultMatrix product[VKF_ELEMENT_QUADRANTS];
    if (kind == VKF_ELEMENT_LEFT_ROWS) {
        TEST_LEFT_LOADS(false, gl_CooperativeMatrixLayoutRowMajor)
    } else if (kind == VKF_ELEMENT_LEFT_COLUMNS) {
        TEST_LEFT_LOADS(true, gl_CooperativeMatrixLayoutColumnMajor)
    } else if (kind == VKF_ELEMENT_RIGHT_ROWS) {
        TEST_RIGHT_LOADS(false, gl_CooperativeMatrixLayoutRowMajor)
    } else if (kind == VKF_ELEMENT_RIGHT_COLUMNS) {
        TEST_RIGHT_LOADS(true, gl_CooperativeMatrixLayoutColumnMajor)
    } else {
        ResultMatrix loaded[VKF_ELEMENT_QUADRANTS];
        LOAD_TILE(loaded, VKF_ELEMENT_RESULT, false, gl_CooperativeMatrixLayoutRowMajor)
        [[unroll]] for (uint q = 0; q < VKF_ELEMENT_QUADRANTS; q++) {
            product[q] = coopMatMulAdd(left, right, loaded[q]);
        }
    }
    const uint stride = tileRow(VKF_ELEMENT_RESULT, false);
    barrier();
    [[unroll]] for (uint q = 0; q < VKF_ELEMENT_QUADRANTS; q++) {
        coopMatStore(product[q], stage, quadrantBegin(VKF_ELEMENT_RESULT, false, q), stride,
                     gl_CooperativeMatrixLayoutRowMajor);
    }
    barrier();
    for (uint i = lane; i < VKF_ELEMENT_QUADRANTS * ROWS * COLUMNS; i += LANES) {
        uint row = i % (ROWS * COLUMNS) / COLUMNS;
        uint column = i % COLUMNS;
        uint word = quadrantBegin(VKF_ELEMENT_RESULT, false, i / (ROWS * COLUMNS)) + row * stride + column / 4;
        writeWord(VKF_ELEMENT_LOADED + kind, 1 + i, stage[word][column % 4]);
    }
}

void main() {
    lane = gl_SubgroupInvocationID;
    tested = params.task == VKF_ELEMENT_TEST_LOADS ? VKF_ELEMENT_LOADED_MATRIX(gl_WorkGroupID.x) : gl_WorkGroupID.x;
    if (params.task == VKF_ELEMENT_TEST_LOADS) {
        testLoads(gl_WorkGroupID.x);
    } else if (params.task == VKF_ELEMENT_TEST) {
        testMatrix();
    } else if (tested == VKF_ELEMENT_RESULT) {
        MEASURE(ResultMatrix, VKF_ELEMENT_RESULT);
    } else if (tested == VKF_ELEMENT_LEFT) {
        MEASURE(LeftMatrix, VKF_ELEMENT_LEFT);
    } else {
        MEASURE(RightMatrix, VKF_ELEMENT_RIGHT);
    }
}
