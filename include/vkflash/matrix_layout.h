/* SPDX-License-Identifier: MIT
 *
 * vkflash/matrix_layout.h: the element layout of cooperative matrices. It says which invocation of a subgroup holds
 * which element of a matrix. An application passes it in VkfContextCreateInfo::matrixLayouts.
 *
 * Vulkan leaves the element layout to the driver. Where the library knows it, the scores of path coopmat stay in
 * registers, and path decode uses matrices for head dimensions up to 256 too (docs/paths.md). Elsewhere scores pass
 * through shared memory. Results are correct either way, but the second one is slower. The library knows the element
 * layouts of NVIDIA's driver and of llvmpipe. On other drivers an application can provide measured ones:
 *
 * - vkf::host::Device (host.hpp) measures when it opens a device. An application with a VkDevice of its own can open
 *   the same physical device once with host.hpp, and take the result of vkf::host::Device::measureMatrixLayouts.
 * - `vkflash tune` writes element layouts to tuning data. vkfGetTuningMatrixLayout (tuning.h) reads them.
 * - An application can measure with a kernel of its own. It loads a matrix whose elements encode row and column. Each
 *   invocation then writes out what it holds. src/host/matrices/element_layout.comp is such a kernel.
 *
 * A wrong element layout gives wrong results, and the library cannot notice it, because it has no queue. So an
 * application must test each element layout on the device before it creates a context with it. A driver may change its
 * element layouts with any version: test again in each process, or whenever the device or its driver has changed.
 * vkf::host::Device tests all layouts that it takes. vkf::host::Device::testMatrixLayout tests one. To test without
 * host.hpp, compute three products of known matrices in a subgroup of `lanes` invocations:
 *
 * 1. Fill the left operand from registers, each element with the value that belongs to its row and column. Load the
 *    right operand from memory, and store the product to memory.
 * 2. Fill the right operand from registers, and load the left one.
 * 3. Load both operands and the accumulator, and read the product from registers.
 *
 * The elements of the filled operand, and of the product in step 3, must differ from each other. The other operand must
 * be such that the product shows each of them, as it does if that operand is an identity matrix. Compare all elements.
 *
 * A driver may load matrices incorrectly, whatever their layout: VKF_QUIRK_WRONG_MATRIX_LOADS (device.h). To test, fill
 * shared memory with a tile of 2 x 2 matrices. Load all four at their offsets, in rows and in columns, with the strides
 * of shaders/shared/tile_memory.h. Multiply each, and compare the products.
 *
 * The structs of this header never change their size.
 */
#ifndef VKFLASH_MATRIX_LAYOUT_H
#define VKFLASH_MATRIX_LAYOUT_H

#include "problem_types.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows and columns that one bit adds: one number is 0, the other one a power of two. Unused bits have {0, 0}. */
typedef struct VkfMatrixPosition {
    uint16_t row;    /* rows */
    uint16_t column; /* columns */
} VkfMatrixPosition;

/* Number of bits of an element number or lane number that an element layout has room for. */
#define VKF_MATRIX_POSITION_BITS 8

/* The element layout of one matrix. It is linear in the bits of two numbers: the number of the invocation in its
 * subgroup, the lane; and the number of the element in the invocation, as GLSL and SPIR-V index it. The row of an
 * element is the sum of the rows of all bits that are set in both numbers. Its column is the sum of the columns.
 *
 * Example: a matrix of 16 x 16 over 32 lanes, eight elements in each, on NVIDIA's driver.
 *
 *     elementBits    {0, 1}, {0, 8}, {8, 0}
 *     laneBits       {0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}
 *     element 5 of lane 13    5 = 4 + 1 and 13 = 8 + 4 + 1, so row 8 + 2 + 1 = 11 and column 1 + 2 = 3 */
typedef struct VkfElementLayout {
    VkfMatrixPosition elementBits[VKF_MATRIX_POSITION_BITS]; /* of the element's number, bit 0 first */
    VkfMatrixPosition laneBits[VKF_MATRIX_POSITION_BITS];    /* of the lane's number, bit 0 first */
} VkfElementLayout;

/* A shape of cooperative matrices with the scope of a subgroup, and its element layouts. */
typedef struct VkfMatrixLayout {
    VkfType type;            /* of the operands: VKF_TYPE_F16 or VKF_TYPE_BF16. The result is fp32. */
    uint32_t rows;           /* of the left operand and of the result */
    uint32_t columns;        /* of the right operand and of the result */
    uint32_t depth;          /* columns of the left operand, rows of the right operand */
    uint32_t lanes;          /* invocations of a subgroup */
    uint32_t reserved[3];    /* 0; else VKF_ERROR_INVALID_ARGUMENT */
    VkfElementLayout result; /* of the result and of the accumulator, rows x columns */
    VkfElementLayout left;   /* of the left operand, rows x depth */
    VkfElementLayout right;  /* of the right operand, depth x columns */
} VkfMatrixLayout;

/* Checks an element layout without a device. VKF_SUCCESS says that kernels can use the layout, not that it is the
 * device's. Allocates nothing and does not block. Thread-safe.
 *
 * Kernels need:
 * - rows, columns, depth: powers of two, at most 16. columns and depth are at least 8. Scores stay in registers only in
 *   shapes with as many columns as depth.
 * - lanes: a power of two, at most 64. An invocation has 4 to 16 elements of the result, and at least 2 of the left
 *   operand.
 * - Result: the low bits of the element's number choose a column, in rising order. The other bits choose a row.
 * - Left operand: laid out like the result, if columns equals depth.
 *
 * Errors:
 * - VKF_ERROR_INVALID_ARGUMENT: null, a type or a size that matrices cannot have, or a reserved field that is not 0
 * - VKF_ERROR_INVALID_ARGUMENT: not a permutation: two elements have one row and column, or an element is outside of
 *   its matrix (the message names the matrix and the element)
 * - VKF_ERROR_UNSUPPORTED: a valid element layout in another form than kernels need */
VKF_API VkfResult vkfCheckMatrixLayout(const VkfMatrixLayout* layout, VkfMessage* message);

#ifdef __cplusplus
}
#endif

#endif
