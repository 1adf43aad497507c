// SPDX-License-Identifier: MIT
//
// Tile choice of the two matrix products of the unfused path, as a pure function of what a device is and what is
// asked.
#pragma once

#include <cstdint>
#include <string>

#include "device/caps.hpp"
#include "tiles/scalar_tile.hpp"

namespace vkf {

// shaders/standard/matrix_product.glsl tells what the numbers mean. S is made in tiles of rows() x keys(), o in tiles
// of rows() and all columns.
struct ProductTile {
    MatrixLayout layout;
    uint32_t subgroups = 0; // 0 = no tile
    uint32_t rowTiles = 0;
    uint32_t keyTiles = 0;
    uint32_t stepDepths = 0; // matrices in the depth that is staged at once
    uint32_t valueDim = 0;

    uint32_t workgroupSize() const { return subgroups * layout.lanes; }
    uint32_t rows() const { return subgroups * rowTiles * layout.rows; }
    uint32_t keys() const { return keyTiles * layout.columns; }
    // Columns of q and k, and keys of P v, that are staged at once.
    uint32_t step() const { return stepDepths * layout.depth; }
    // Of the product that needs more.
    uint32_t sharedBytes() const;
    // 32-bit registers that hold an invocation's part of s or o, whichever is larger.
    uint32_t registers() const;
};

// Fills *considered, unless null.
ProductTile chooseProductTile(const Caps& caps, const MatrixLayout& layout, const TileProblem& problem,
                              ConsideredTiles* considered = nullptr);
std::string tileText(const ProductTile& tile);

// Workgroup of the unfused softmax, and the words of four scores that an invocation keeps of its row.
struct SoftmaxTile {
    uint32_t workgroupSize;
    uint32_t rowWords;

    // Scores that stay in registers.
    uint32_t keys() const { return workgroupSize * rowWords * 4; }
};

SoftmaxTile chooseSoftmaxTile(const Caps& caps, uint32_t keys);

} // namespace vkf
