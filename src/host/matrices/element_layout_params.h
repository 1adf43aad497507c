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
#define VKF_ELEMENT_MEASURED 0 /* first of three sections: the places that were measured */
#define VKF_ELEMENT_TESTED 3   /* first of three sections: the product of the test of a matrix, row by row */
#define VKF_ELEMENT_ASSUMED 6  /* first of three sections: the places that the test assumes */
#define VKF_ELEMENT_SECTIONS 9
#define VKF_ELEMENT_MOST 1024 /* elements of a section */
#define VKF_ELEMENT_SECTION_WORDS (VKF_ELEMENT_MOST + 1)

/* The place of an element, in one word. */
#define VKF_ELEMENT_PLACE(row, column) ((row) | (column) << 16)
#define VKF_ELEMENT_PLACE_ROW(place) ((place)&0xffffu)
#define VKF_ELEMENT_PLACE_COLUMN(place) ((place) >> 16)

struct ElementLayoutParams {
    ElementAddress memory;
    ElementCount test; /* 0 = measure, 1 = test */
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

#ifdef __cplusplus
static_assert(sizeof(ElementLayoutParams) == 16);
} // namespace vkf::shared
#endif

#endif
