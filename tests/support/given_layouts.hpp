// SPDX-License-Identifier: MIT
//
// Element layouts as an application gives them, for tests.
#pragma once

#include <vkflash/vkflash.h>

#include "device/matrix_layout.hpp"

namespace vkf::test {

// A layout of the library as an application would give it. Right operands are laid out like left operands, transposed.
inline VkfMatrixLayout givenLayout(VkfType type, const MatrixLayout& layout) {
    VkfMatrixLayout given{};
    given.type = type;
    given.rows = layout.rows;
    given.columns = layout.columns;
    given.depth = layout.depth;
    given.lanes = layout.lanes;
    const auto copy = [](const auto& from, VkfMatrixPlace* to, VkfMatrixPlace* transposed) {
        for (const MatrixLayout::Place& place : from) {
            *to++ = {static_cast<uint16_t>(place.row), static_cast<uint16_t>(place.column)};
            *transposed++ = {static_cast<uint16_t>(place.column), static_cast<uint16_t>(place.row)};
        }
    };
    copy(layout.elementBits, given.result.elementBits, given.right.elementBits);
    copy(layout.laneBits, given.result.laneBits, given.right.laneBits);
    given.left = given.result;
    return given;
}

// NVIDIA's narrow shape, 16x8x16.
inline VkfMatrixLayout narrowLayout(VkfType type) {
    VkfMatrixLayout given = givenLayout(type, knownMatrixLayout(VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 16, 16));
    given.columns = 8;
    given.result.elementBits[1] = {8, 0};
    given.result.elementBits[2] = {0, 0};
    given.right.elementBits[2] = {0, 0};
    return given;
}

} // namespace vkf::test
