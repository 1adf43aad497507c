// SPDX-License-Identifier: MIT
#include "host/matrices/matrix_loads.hpp"

#include <bit>

#include "host/matrices/element_layout_params.h"

namespace vkf::host {
namespace {

// An element of the product with the loaded matrix in a quadrant. All values are whole numbers that fp32 holds exactly.
int32_t expectedValue(const MatrixShape& shape, uint32_t loaded, uint32_t quadrant, uint32_t row, uint32_t column) {
    const auto value = [&](uint32_t matrix, uint32_t r, uint32_t c) {
        const uint32_t rows = matrix == VKF_ELEMENT_RIGHT ? shape.depth : shape.rows;
        const uint32_t columns = matrix == VKF_ELEMENT_LEFT ? shape.depth : shape.columns;
        return matrix == loaded ? shared::quadrantValue(matrix, quadrant, r, c, rows, columns)
                                : shared::elementValue(loaded, matrix, r, c, rows, columns);
    };
    int32_t sum = value(VKF_ELEMENT_RESULT, row, column);
    for (uint32_t k = 0; k < shape.depth; k++) {
        sum += value(VKF_ELEMENT_LEFT, row, k) * value(VKF_ELEMENT_RIGHT, k, column);
    }
    return sum;
}

bool isRight(const LayoutKernel& kernel, const MatrixShape& shape, uint32_t kind) {
    const uint32_t* const products = kernel.wordsOf(VKF_ELEMENT_LOADED + kind);
    uint32_t at = 0; // products lie quadrant by quadrant, row by row
    for (uint32_t quadrant = 0; quadrant < VKF_ELEMENT_QUADRANTS; quadrant++) {
        for (uint32_t row = 0; row < shape.rows; row++) {
            for (uint32_t column = 0; column < shape.columns; column++) {
                const int32_t expected = expectedValue(shape, VKF_ELEMENT_LOADED_MATRIX(kind), quadrant, row, column);
                if (std::bit_cast<float>(products[at++]) != static_cast<float>(expected)) {
                    return false;
                }
            }
        }
    }
    return true;
}

} // namespace

bool loadsMatricesRight(LayoutKernel& kernel, const MatrixShape& shape) {
    constexpr uint32_t wordElements = 8;
    kernel.run(VKF_ELEMENT_TEST_LOADS);
    for (uint32_t kind = 0; kind < VKF_ELEMENT_LOADS; kind++) {
        // A row of a left operand's column must be whole words.
        const bool tested = kind != VKF_ELEMENT_LEFT_COLUMNS || shape.rows % wordElements == 0;
        if (tested && !isRight(kernel, shape, kind)) {
            return false;
        }
    }
    return true;
}

} // namespace vkf::host
