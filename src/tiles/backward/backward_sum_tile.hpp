// SPDX-License-Identifier: MIT
//
// Tile choice of the kernel that makes sums from stored p and ds. It depends on plain data alone: a device and a
// dimension.
#pragma once

#include <cstdint>
#include <string>

#include "device/caps.hpp"
#include "device/matrix_layout.hpp"
#include "tiles/backward/backward_tile.hpp"

namespace vkf {

// shaders/backward_coopmat/backward_sums.comp explains the numbers.
struct BackwardSumTile {
    static constexpr uint32_t maxRows = 256; // no tile has more

    MatrixLayout layout;
    BackwardOwner owner{};       // rows: dq; keys: dk or dv
    uint32_t subgroups = 0;      // 0 = no tile
    uint32_t ownedMatrices = 0;  // matrices of rows or keys that a subgroup owns
    uint32_t steps = 0;          // matrices of visited keys or rows in a step
    uint32_t depthSubgroups = 1; // that own the same rows or keys, and divide the columns
    uint32_t dim = 0;            // of the sums

    uint32_t workgroupSize() const { return subgroups * layout.lanes; }
    uint32_t owned() const { return subgroups / depthSubgroups * ownedMatrices * layout.rows; }
    uint32_t visited() const { return steps * layout.depth; }
    uint32_t rows() const { return owner == BackwardOwner::keys ? visited() : owned(); }
    uint32_t keys() const { return owner == BackwardOwner::keys ? owned() : visited(); }
    uint32_t columns() const; // of a sum, those past the last one included
    uint32_t sharedBytes() const;
    // Registers of an invocation that hold sums, operands, and words in flight.
    uint32_t registers() const;
    std::string text(uint32_t splits) const;
};

// A step, or what a workgroup owns, has keys of one tile of the kernel that stored the pairs, which has `storedKeys`
// keys. A tile without a workgroup says that none fits the device.
BackwardSumTile chooseBackwardSumTile(const Caps& caps, const MatrixLayout& layout, BackwardOwner owner, uint32_t dim,
                                      uint32_t storedKeys);

} // namespace vkf
