// SPDX-License-Identifier: MIT
//
// The tile of the latent kernel (shaders/latent/attention_latent.comp).
#pragma once

#include <cstdint>
#include <string>

#include "device/matrix_layout.hpp"
#include "tiles/kernel_tile.hpp"

namespace vkf {

// shaders/latent/attention_latent.comp explains the numbers.
struct LatentTile {
    MatrixLayout layout;      // the kernel uses its shape alone
    uint32_t rowMatrices = 1; // matrices of rows
    uint32_t keyMatrices = 0; // 0 = no tile
    uint32_t headDim = 0;
    uint32_t valueDim = 0;
    bool chosenKeys = false; // shared memory has entries of a list

    // Each invocation has two scores of each matrix of rows.
    uint32_t depthSubgroups() const { return layout.elements() / 2 / rowMatrices; }
    uint32_t subgroups() const { return rowMatrices * keyMatrices * depthSubgroups(); }
    uint32_t workgroupSize() const { return subgroups() * layout.lanes; }
    uint32_t rows() const { return rowMatrices * layout.rows; }
    uint32_t keys() const { return keyMatrices * layout.depth; }
    uint32_t sharedBytes() const;
    // Registers of an invocation that hold parts of q, k, s and o.
    uint32_t registers() const;
    std::string text(uint32_t splits) const;
};

using LatentPlan = TilePlan<LatentTile>;

} // namespace vkf
