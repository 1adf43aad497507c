/* SPDX-License-Identifier: MIT
 *
 * What element_layout.comp and the host must agree on. */
#ifndef VKF_ELEMENT_LAYOUT_PARAMS_H
#define VKF_ELEMENT_LAYOUT_PARAMS_H

#ifdef __cplusplus
#include <cstdint>
namespace vkf::shared {
using ElementAddress = uint64_t;
using ElementCount = uint32_t;
using ElementValue = int32_t;
#define VKF_ELEMENT_FUNCTION inline
#else
#define ElementAddress uvec2
#define ElementCount uint
#define ElementValue int
#define VKF_ELEMENT_FUNCTION
#endif

/* Ids of specialization constants. */
#define VKF_ELEMENT_ID_LANES 0
#define VKF_ELEMENT_ID_ROWS 1
#define VKF_ELEMENT_ID_COLUMNS 2
#define VKF_ELEMENT_ID_DEPTH 3
#define VKF_ELEMENT_ID_COUNT 4

/* The matrices of a product. */
#define VKF_ELEMENT_RESULT 0
#define VKF_ELEMENT_LEFT 1
#define VKF_ELEMENT_RIGHT 2
#define VKF_ELEMENT_MATRICES 3

/* The memory is divided into sections. A section is about one matrix: its first word is the number of elements in an
 * invocation, and the others belong to elements. */
#define VKF_ELEMENT_MEASURED 0 /* first of three sections: the positions that were measured */
#define VKF_ELEMENT_TESTED 3   /* first of three sections: the product of the test of a matrix, row by row */
#define VKF_ELEMENT_ASSUMED 6  /* first of three sections: the positions that the test assumes */
#define VKF_ELEMENT_LOADED                                                                                             \
    9 /* first of five sections: the products of the test of a kind of loads, quadrant by quadrant */
#define VKF_ELEMENT_SECTIONS 14
#define VKF_ELEMENT_MOST 1024 /* elements of a section */
#define VKF_ELEMENT_SECTION_WORDS (VKF_ELEMENT_MOST + 1)

/* The position of an element, in one word. */
#define VKF_ELEMENT_POSITION(row, column) ((row) | (column) << 16)
#define VKF_ELEMENT_POSITION_ROW(position) ((position)&0xffffu)
#define VKF_ELEMENT_POSITION_COLUMN(position) ((position) >> 16)

/* What the kernel does. */
#define VKF_ELEMENT_MEASURE 0
#define VKF_ELEMENT_TEST 1
#define VKF_ELEMENT_TEST_LOADS 2

/* The kinds of loads that the attention kernels use, as VKF_ELEMENT_TEST_LOADS tests them: q and p; stored pairs that
 * turn from keys to rows; v; k; factors and sums. */
#define VKF_ELEMENT_LEFT_ROWS 0
#define VKF_ELEMENT_LEFT_COLUMNS 1
#define VKF_ELEMENT_RIGHT_ROWS 2
#define VKF_ELEMENT_RIGHT_COLUMNS 3
#define VKF_ELEMENT_RESULT_ROWS 4
#define VKF_ELEMENT_LOADS 5
#define VKF_ELEMENT_LOADED_MATRIX(kind)                                                                                \
    ((kind) <= VKF_ELEMENT_LEFT_COLUMNS    ? VKF_ELEMENT_LEFT                                                          \
     : (kind) <= VKF_ELEMENT_RIGHT_COLUMNS ? VKF_ELEMENT_RIGHT                                                         \
                                           : VKF_ELEMENT_RESULT)
#define VKF_ELEMENT_LOADS_COLUMNS(kind) ((kind) == VKF_ELEMENT_LEFT_COLUMNS || (kind) == VKF_ELEMENT_RIGHT_COLUMNS)

/* The test of loads has four matrices in one tile of shared memory, two beside two. Rows have the padding of the
 * attention kernels (shaders/shared/tile_memory.h), and 16-byte words as those have. `elements`: in a row of a matrix;
 * `word_elements`: in a word, eight in 16 bits or four in 32 bits. */
#define VKF_ELEMENT_QUADRANTS 4
#define VKF_ELEMENT_TILE_ROW(elements, word_elements)                                                                  \
    (2 * (elements) / (word_elements) + ((word_elements) == 8 ? 1 : 2))

struct ElementLayoutParams {
    ElementAddress memory;
    ElementCount task; /* VKF_ELEMENT_MEASURE, VKF_ELEMENT_TEST or VKF_ELEMENT_TEST_LOADS */
    ElementCount reserved;
};

/* A matrix has at most 256 elements, so that the numbers of its elements are exact in every 16-bit type. */
#define VKF_ELEMENT_NUMBERS 256

/* A value of the operand that is loaded in the test of the other operand. The product has each element of the tested
 * operand once. Where the product has half as many rows or columns as the depth, an element of it is a pair of them. */
#define VKF_ELEMENT_SELECTOR(depth, index, size)                                                                       \
    ((depth) % (size) != (index) ? 0 : (depth) < (size) ? 1 : VKF_ELEMENT_NUMBERS)

/* An ordinary factor, from -4 to 3. */
#define VKF_ELEMENT_FACTOR(row, column) (ElementValue(((row)*5 + (column)*3 + (row) * (column)) % 8) - 4)

/* More than twice the largest product of ordinary factors, so that all elements of the tested result differ. */
#define VKF_ELEMENT_STEP 1024

/* The value of an element in the test of matrix `tested`. `rows` and `columns` are those of the matrix. */
VKF_ELEMENT_FUNCTION ElementValue elementValue(const ElementCount tested, const ElementCount matrix,
                                               const ElementCount row, const ElementCount column,
                                               const ElementCount rows, const ElementCount columns) {
    if (matrix == tested) {
        return ElementValue(row * columns + column) * (tested == VKF_ELEMENT_RESULT ? VKF_ELEMENT_STEP : 1);
    }
    if (tested == VKF_ELEMENT_RESULT) {
        return VKF_ELEMENT_FACTOR(row, column);
    }
    if (matrix == VKF_ELEMENT_RIGHT) {
        return VKF_ELEMENT_SELECTOR(row, column, columns);
    }
    return matrix == VKF_ELEMENT_LEFT ? VKF_ELEMENT_SELECTOR(column, row, rows) : 0;
}

/* The value of an element of the tested matrix in a quadrant of its tile. Each quadrant has all values, in another
 * order, so that a load from another quadrant changes all elements of the product. */
VKF_ELEMENT_FUNCTION ElementValue quadrantValue(const ElementCount matrix, const ElementCount quadrant,
                                                const ElementCount row, const ElementCount column,
                                                const ElementCount rows, const ElementCount columns) {
    ElementCount shift = quadrant * (rows * columns / VKF_ELEMENT_QUADRANTS);
    return ElementValue((row * columns + column + shift) % (rows * columns)) *
           (matrix == VKF_ELEMENT_RESULT ? VKF_ELEMENT_STEP : 1);
}

#ifdef __cplusplus
static_assert(sizeof(ElementLayoutParams) == 16);
} // namespace vkf::shared
#endif

#endif
