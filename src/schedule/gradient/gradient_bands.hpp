// SPDX-License-Identifier: MIT
//
// Bands of keys, whose ds stays in scratch memory for the kernel that writes dq (shaders/gradient/bands.glsl).
#pragma once

#include <cstdint>

#include "problem/gradient.hpp"
#include "tiles/gradient/gradient_dq_tile.hpp"
#include "tiles/gradient/gradient_matrix_tile.hpp"

namespace vkf {

struct GradientBands {
    uint32_t heads = 0;  // KV heads of a pass, of all sequences; 0 = ds is not stored
    uint32_t tiles = 0;  // tiles of keys in a band
    uint32_t passes = 0; // of all heads and bands
    uint64_t dsBytes = 0;
    uint64_t sumsBytes = 0; // 0 if a band has all keys

    uint64_t bytes() const { return dsBytes + sumsBytes; }
};

// The bands that fit VkfGradientProblem::maxScratchBytes, as many at a time as pay. None if too few fit to occupy the
// device, or if the problem's masks leave holes in ds. `keyTile` stores ds, `dqTile` reads it.
GradientBands chooseGradientBands(const CheckedGradient& gradient, const GradientMatrixTile& keyTile,
                                  const GradientDqTile& dqTile);

} // namespace vkf
