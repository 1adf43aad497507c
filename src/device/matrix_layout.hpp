// SPDX-License-Identifier: MIT
//
// The element layout: which invocation of a subgroup holds which element of a cooperative matrix. The extension leaves
// it to the driver. A table has the layouts of some drivers, and an application can provide others
// (device/application_layouts.hpp). Without either, elements pass through shared memory into a layout of the library.
#pragma once

#include <array>
#include <cstdint>

#include <vulkan/vulkan_core.h>

namespace vkf {

// A shape and the element layout of its results. A result has rows x columns elements in fp32, a left operand rows x
// depth elements in 16 bits. The layout is linear in the bits of element and lane: element e of lane n lies at the sum
// of the positions of the bits that are set in e and n. In a driver's layout, left operands are laid out like results.
struct MatrixLayout {
    struct Position {
        uint32_t row;
        uint32_t column;

        bool operator==(const Position&) const = default;
    };

    uint32_t rows = 0; // 0 = no layout
    uint32_t columns = 0;
    uint32_t depth = 0;
    uint32_t lanes = 0;                    // of a subgroup
    std::array<Position, 4> elementBits{}; // unused ones 0
    std::array<Position, 6> laneBits{};
    bool viaShared = false;       // the layout of the library: elements pass through shared memory
    bool rightTransposed = false; // right operands are laid out like left operands with rows and columns exchanged
    // The device also has a shape with fewer columns: this many. Its results and right operands are laid out like those
    // of the full shape. Elements whose column is too large are left out, and the others keep their order. 0 = no such
    // shape.
    uint32_t smallShapeColumns = 0;

    uint32_t elements() const { return rows * columns / lanes; }
    // Consecutive elements of an invocation that lie in one row.
    uint32_t fragmentRowElements() const;
    // Bits of the lane number that choose a column.
    uint32_t columnLanes() const;
    Position positionOf(uint32_t element, uint32_t lane) const;
    // Whether elements 2i and 2i + 1 of an invocation are in columns 2j and 2j + 1 of a row.
    bool pairsInLane() const { return elementBits[0] == Position{0, 1}; }
    uint32_t fewestColumns() const { return smallShapeColumns != 0 ? smallShapeColumns : columns; }
    // Whether shaders/decode_matrix/tile.glsl can fill operands from registers, and turn results with fewer columns
    // into operands. For this, matrices are square and in the driver's layout. The low bits of lane and element choose
    // the column. The low bits of the row come from the lane. Elements 0 and 1 are neighbours.
    bool fillsFromRegisters() const;

    bool operator==(const MatrixLayout&) const = default;
};

// Returns the shape that makes more products at once.
const MatrixLayout& larger(const MatrixLayout& a, const MatrixLayout& b);

// Whether the kernels on matrices can use the shape, in some element layout.
bool suitsKernels(uint32_t lanes, uint32_t rows, uint32_t columns, uint32_t depth);

// Returns the driver's layout of a shape with as many columns as depth, or none if the library does not know it.
MatrixLayout knownMatrixLayout(VkDriverId driver, uint32_t subgroupSize, uint32_t rows, uint32_t depth);

// Returns the layout in which invocations read elements from shared memory, or none if the shape does not suit
// subgroups of that size. Every invocation takes 4 to 16 elements, as many of them as possible neighbours in a row.
MatrixLayout viaSharedMatrixLayout(uint32_t subgroupSize, uint32_t rows, uint32_t columns, uint32_t depth);

} // namespace vkf
