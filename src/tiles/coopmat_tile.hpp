// SPDX-License-Identifier: MIT
//
// Tile choice of the cooperative-matrix kernel, as a pure function of what a device is and what is asked.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/caps.hpp"
#include "tiles/scalar_tile.hpp"

namespace vkf {

// shaders/coopmat/attention_coopmat.comp tells what the numbers mean.
struct MatrixTile {
    MatrixLayout layout;
    uint32_t subgroups = 0; // 0 = no tile
    uint32_t rowTiles = 0;
    uint32_t keyTiles = 0;
    uint32_t headDim = 0;
    uint32_t valueDim = 0;
    uint32_t biasBits = 0; // of an element; 0 = no bias

    uint32_t workgroupSize() const { return subgroups * layout.lanes; }
    uint32_t rows() const { return subgroups * rowTiles * layout.rows; }
    // Whole matrices, and the whole depth of a product.
    uint32_t keys() const { return keyTiles * std::max(layout.columns, layout.depth); }
    uint32_t keyMatrices() const { return keys() / layout.columns; }
    uint32_t sharedBytes() const;
    // 32-bit registers that hold an invocation's part of q, s, o and the bias of the next tile.
    uint32_t registers() const;
};

// A tile, and into how many parts the keys are split for it.
struct MatrixPlan {
    MatrixTile tile;
    uint32_t splits = 1;
    bool tuned = false; // chosen by tuning data
};

// Whether o leaves in whole words, if its rows are made of them, rather than element by element. `keys` that a row sees
// of a workgroup's; fewer than those, it is to be assumed, if the kernel asks masks about each of them.
bool outputInWords(const MatrixTile& tile, uint32_t keys, bool asksKeys);

// Fills *considered, unless null.
MatrixPlan chooseMatrixTile(const TunedDevice& device, const MatrixLayout& layout, const TileProblem& problem,
                            ConsideredTiles* considered = nullptr);

} // namespace vkf
