// SPDX-License-Identifier: MIT
//
// Tile choice of the kernel of path scalar. It depends on plain data alone: a device and a problem.
#pragma once

#include <cstdint>
#include <string>

#include "tiles/kernel_tile.hpp"
#include "tiles/tile_problem.hpp"
#include "tiles/tile_search.hpp"
#include "tiles/tuned_device.hpp"

namespace vkf {

// How the kernels of plain arithmetic spread a tile over a workgroup. shaders/scalar/scores.glsl and output.glsl
// explain the numbers.
struct ScalarTile {
    uint32_t groups = 0;         // of lanes; 0 = no tile
    uint32_t lanes = 0;          // invocations that share a query row
    uint32_t threadRows = 0;     // query rows of one invocation
    uint32_t threadKeys = 0;     // keys of one invocation
    uint32_t threadColumns4 = 0; // columns of o of one invocation, in fours
    uint32_t chunkDim4 = 0;      // columns of q and k staged at once, in fours
    uint32_t chunkKeys = 0;      // rows of v staged at once

    uint32_t workgroupSize() const { return groups * lanes; }
    uint32_t rows() const { return groups * threadRows; }
    uint32_t keys() const { return lanes * threadKeys; }
    uint32_t sharedBytes() const;
    // Registers of an invocation that hold parts of s and o, and the fragments that are multiplied.
    uint32_t registers() const;
    std::string text(uint32_t splits) const;
};

using ScalarPlan = TilePlan<ScalarTile>;

// For path scalar, and for paths standard and key_outer, whose kernels of plain arithmetic use the same tile. Fills
// *considered, unless null.
ScalarPlan chooseScalarTile(const TunedDevice& device, const TileProblem& problem,
                            ConsideredTiles* considered = nullptr);

} // namespace vkf
