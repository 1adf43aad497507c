// SPDX-License-Identifier: MIT
//
// How the elements of a cooperative matrix are spread over a subgroup: as the driver does it, which the
// extension leaves to it, or through shared memory in a way of our own.
#pragma once

#include <array>
#include <cstdint>

#include <vulkan/vulkan_core.h>

namespace vkf {

// A shape (rows x columns results in fp32, products of that depth in 16 bits) and who holds which element of a
// result, linear in the bits of element and lane: element e of lane n lies at the sum of the places of their set
// bits. In a driver's own layout left operands (rows x depth) are laid out like results.
struct MatrixLayout {
    struct Place {
        uint32_t row;
        uint32_t column;
    };

    uint32_t rows = 0; // 0 = no layout
    uint32_t columns = 0;
    uint32_t depth = 0;
    uint32_t lanes = 0;                 // of a subgroup
    std::array<Place, 4> elementBits{}; // unused ones 0
    std::array<Place, 6> laneBits{};
    bool exchanged = false;       // ours: elements pass through shared memory
    bool rightTransposed = false; // right operands are laid out as left ones, rows and columns exchanged
    // Results and right operands may have so many columns too, and are then laid out as if the others were left out:
    // elements in the same order, less those whose column is too large. 0 = all columns or none.
    uint32_t narrowColumns = 0;

    uint32_t elements() const { return rows * columns / lanes; }
    // Consecutive elements of an invocation that lie in one row.
    uint32_t slotElements() const;
    // Bits of the lane number that choose a column.
    uint32_t columnLanes() const;
    Place placeOf(uint32_t element, uint32_t lane) const;
    uint32_t fewestColumns() const { return narrowColumns != 0 ? narrowColumns : columns; }
    // Whether operands can be filled from registers, and narrow results be turned into them, as
    // shaders/decode/decode_matrix_tile.glsl does: the low bits of lane and element choose the column, of a row the low
    // bits are the lane's, and elements 0 and 1 are neighbours.
    bool fillsFromRegisters() const;
};

// The layout of a shape, with as many columns as depth, in a driver, or none where nobody looked.
MatrixLayout knownMatrixLayout(VkDriverId driver, uint32_t subgroupSize, uint32_t rows, uint32_t depth);

// The layout in which elements come out of shared memory, or none where a shape and a subgroup of that size do
// not suit each other: every invocation takes 4 to 16 elements, as many neighbours in a row as there are.
MatrixLayout exchangedMatrixLayout(uint32_t subgroupSize, uint32_t rows, uint32_t columns, uint32_t depth);

} // namespace vkf
