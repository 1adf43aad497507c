// SPDX-License-Identifier: MIT
//
// How drivers lay a cooperative matrix out over a subgroup, which the extension leaves to them.
#pragma once

#include <array>
#include <cstdint>

#include <vulkan/vulkan_core.h>

namespace vkf {

// A shape whose result matrices (rows x depth, fp32) and left operands (rows x depth, 16 bits) are laid out
// alike, linear in the bits of element and lane: element e of lane n lies at the sum of the places of
// their set bits.
struct MatrixLayout {
    struct Place {
        uint32_t row;
        uint32_t column;
    };

    uint32_t rows = 0; // 0 = no layout
    uint32_t depth = 0;
    uint32_t lanes = 0;                 // of a subgroup
    std::array<Place, 4> elementBits{}; // unused ones 0
    std::array<Place, 6> laneBits{};

    uint32_t elements() const { return rows * depth / lanes; }
    // Consecutive elements of an invocation that lie in one row.
    uint32_t slotElements() const;
    // Bits of the lane number that choose a column.
    uint32_t columnLanes() const;
    Place placeOf(uint32_t element, uint32_t lane) const;
};

// The layout of a shape in a driver, or none where nobody looked.
MatrixLayout knownMatrixLayout(VkDriverId driver, uint32_t subgroupSize, uint32_t rows, uint32_t depth);

} // namespace vkf
