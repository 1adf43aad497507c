// SPDX-License-Identifier: MIT
//
// Tile choice of the kernel that makes dq from stored ds. It depends on plain data alone: a device and a head
// dimension.
#pragma once

#include <cstdint>
#include <string>

#include "device/caps.hpp"
#include "device/matrix_layout.hpp"

namespace vkf {

// shaders/gradient_coopmat/gradient_dq.comp explains the numbers.
struct GradientDqTile {
    MatrixLayout layout;
    uint32_t subgroups = 0;      // 0 = no tile
    uint32_t ownedTiles = 0;     // matrices of rows that a subgroup owns
    uint32_t steps = 0;          // matrices of keys in a step
    uint32_t depthSubgroups = 1; // that own the same rows, and divide the columns
    uint32_t headDim = 0;

    uint32_t workgroupSize() const { return subgroups * layout.lanes; }
    uint32_t rows() const { return subgroups / depthSubgroups * ownedTiles * layout.rows; }
    uint32_t keys() const { return steps * layout.depth; }
    uint32_t columns() const; // of the sums of a row, those past the last one included
    uint32_t sharedBytes() const;
    // Registers of an invocation that hold sums, operands, and words on their way.
    uint32_t registers() const;
    std::string text(uint32_t splits) const;
};

// A tile without a workgroup says that none fits the device.
GradientDqTile chooseGradientDqTile(const Caps& caps, const MatrixLayout& layout, uint32_t headDim);

} // namespace vkf
