// SPDX-License-Identifier: MIT
//
// Tile choice of path standard: its two matrix products and its softmax. It depends on plain data alone: a device and a
// problem.
#pragma once

#include <cstdint>
#include <string>

#include "device/caps.hpp"
#include "tiles/tile_problem.hpp"
#include "tiles/tile_search.hpp"

namespace vkf {

// shaders/standard/matrix_product.glsl explains the numbers. The first product makes tiles of rows() x keys() scores.
// The second makes tiles of o of rows() rows and all columns.
struct ProductTile {
    MatrixLayout layout;
    uint32_t subgroups = 0; // 0 = no tile
    uint32_t rowMatrices = 0;
    uint32_t keyMatrices = 0;
    uint32_t stepSlices = 0; // matrices in the depth that is staged at once
    uint32_t valueDim = 0;

    uint32_t workgroupSize() const { return subgroups * layout.lanes; }
    uint32_t rows() const { return subgroups * rowMatrices * layout.rows; }
    uint32_t keys() const { return keyMatrices * layout.columns; }
    // Columns of q and k, and keys of p and v, that are staged at once.
    uint32_t step() const { return stepSlices * layout.depth; }
    // Bytes of the product that needs more.
    uint32_t sharedBytes() const;
    // Registers of an invocation that hold a part of s or of o, whichever is larger.
    uint32_t registers() const;
    std::string text(uint32_t splits) const;
};

// Fills *considered, unless null.
ProductTile chooseProductTile(const Caps& caps, const MatrixLayout& layout, const TileProblem& problem,
                              ConsideredTiles* considered = nullptr);

// Workgroup of the softmax, and the words of four scores that one invocation keeps of its row.
struct SoftmaxTile {
    uint32_t workgroupSize;
    uint32_t rowWords;

    // Scores that stay in registers.
    uint32_t keys() const { return workgroupSize * rowWords * 4; }
};

SoftmaxTile chooseSoftmaxTile(const Caps& caps, uint32_t keys);

} // namespace vkf
