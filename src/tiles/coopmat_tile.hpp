// SPDX-License-Identifier: MIT
//
// Tile choice of the cooperative-matrix kernel. It depends on plain data alone: a device and a problem.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "device/matrix_layout.hpp"
#include "shared/tile_memory.h"
#include "tiles/kernel_tile.hpp"
#include "tiles/tile_problem.hpp"
#include "tiles/tile_search.hpp"
#include "tiles/tuned_device.hpp"

namespace vkf {

// shaders/coopmat/attention_coopmat.comp explains the numbers.
struct CoopmatTile {
    MatrixLayout layout;
    uint32_t subgroups = 0;   // 0 = no tile
    uint32_t rowMatrices = 0; // matrices of rows that a subgroup owns
    uint32_t keyUnits = 0;    // a unit of keys: the columns of a matrix or the depth of a product, whichever is larger
    uint32_t headDim = 0;
    uint32_t valueDim = 0;
    uint32_t biasBits = 0;      // of one element; 0 = no bias
    bool bf16x3 = false;        // three matrices hold the parts of fp32 numbers
    uint32_t sharedQSlices = 0; // slices of q that lie in shared memory instead of registers
    bool loadsScalars = false;  // elements are loaded one by one, and rows of several heads share the tile

    uint32_t workgroupSize() const { return subgroups * layout.lanes; }
    uint32_t rows() const { return subgroups * rowMatrices * layout.rows; }
    uint32_t keys() const { return keyUnits * std::max(layout.columns, layout.depth); }
    uint32_t keyMatrices() const { return keys() / layout.columns; }
    // Matrices that hold a matrix of q, k, v or p. There are as many accumulators of scores.
    uint32_t parts() const { return bf16x3 ? VKF_BF16X3_PARTS : 1; }
    uint32_t sharedBytes() const;
    // Registers of an invocation that hold parts of q, s, o and the bias of the next tile, if all of q is in registers.
    uint32_t registers() const;
    std::string text(uint32_t splits) const;
};

// Slices of q that the tile has in shared memory on this device: none where registers are not short.
uint32_t sharedQSlicesOf(CoopmatTile tile, const Caps& caps, const TileProblem& problem);

using CoopmatPlan = TilePlan<CoopmatTile>;

// Whether the keys are a cache: so many for each row that a mask, too, leaves most of them to all rows.
bool hasCache(const Caps& caps, const TileProblem& problem);

// Whether the tile makes enough workgroups for a mask under which they take different times.
bool staysBusyUnderMasks(const CoopmatTile& tile, const Caps& caps, const TileProblem& problem);

// Fills *considered, unless null.
CoopmatPlan chooseCoopmatTile(const TunedDevice& device, const MatrixLayout& layout, const TileProblem& problem,
                              ConsideredTiles* considered = nullptr);

} // namespace vkf
