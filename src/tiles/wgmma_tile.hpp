// SPDX-License-Identifier: MIT
//
// Tile choice of path wgmma. Head dimensions alone decide the tile, because the kernels are compiled before. The number
// of key splits depends on the problem.
#pragma once

#include <cstdint>
#include <string>

#include "pipelines/wgmma_kernels.hpp"
#include "tiles/kernel_tile.hpp"
#include "tiles/tile_problem.hpp"
#include "tiles/tile_search.hpp"
#include "tiles/tuned_device.hpp"

namespace vkf {

struct WgmmaTile {
    const shared::WgmmaTile* kernel = nullptr; // null = no tile

    uint32_t workgroupSize() const { return kernel != nullptr ? kernel->threads : 0; }
    uint32_t rows() const { return kernel->rows; }
    uint32_t keys() const { return kernel->keys; }
    uint32_t sharedBytes() const { return kernel->shared_bytes; }
    // A thread holds half a row of s and of o, and a quarter of a row of q in 32-bit words: a warpgroup of 128 threads
    // owns 64 rows.
    uint32_t registers() const { return (kernel->keys + kernel->dim) / 2 + kernel->dim / 4; }
    std::string text(uint32_t splits) const;
};

using WgmmaPlan = TilePlan<WgmmaTile>;

// Fills *considered, unless null. The plan has no tile if the device has too little shared memory, or takes too few
// invocations.
WgmmaPlan chooseWgmmaTile(const Caps& caps, const TileProblem& problem, ConsideredTiles* considered = nullptr);

} // namespace vkf
