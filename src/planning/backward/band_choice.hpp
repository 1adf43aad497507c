// SPDX-License-Identifier: MIT
//
// Which keys and heads a pass of the backward pass takes, if their ds, or p and ds, stay in scratch memory. The choice
// depends on plain data alone: a problem and two tiles.
#pragma once

#include <cstdint>

#include "problem/backward.hpp"
#include "tiles/backward/backward_matrix_tile.hpp"
#include "tiles/backward/backward_sum_tile.hpp"

namespace vkf {

struct BackwardBands {
    uint32_t heads = 0;       // KV heads of a round, of all sequences; 0 = nothing is stored
    uint32_t tiles = 0;       // tiles of keys in a band
    uint32_t rounds = 0;      // of all heads and bands
    uint32_t sharedRows = 0;  // rows that two tiles of keys share (shaders/backward_coopmat/stored_matrices.glsl)
    uint64_t storedBytes = 0; // of ds, and of p again where it is stored, with a margin at both ends
    uint64_t margin = 0;      // bytes that sums read for matrices next to those of a tile (sums_stage.glsl)
    uint64_t sumBytes = 0;    // of sums of dq; 0 if a band has all keys
};

// The bands that fit VkfBackwardProblem::maxScratchBytes, as many at a time as pay. None if too few fit to occupy the
// device, or if the problem's masks leave holes in ds. First keys leave one between them and the window, which sums
// read unless they go by lists of tiles. `store` stores ds, or p and ds, `sum` sums over keys.
BackwardBands chooseBackwardBands(const CheckedBackward& backward, const BackwardMatrixTile& store,
                                  const BackwardSumTile& sum);

} // namespace vkf
