// SPDX-License-Identifier: MIT
//
// The map of tiles of a backward pass (shaders/backward/map_cells.glsl), and the lists that are made from it.
#pragma once

#include "planning/backward/backward_decision.hpp"

namespace vkf {

// Sets the map of a backward pass whose tiles are decided, and its lists. The tiles of the map divide those of all
// kernels. There is none in these cases:
// - No function of the caller's own drops pairs.
// - There is no row or no key.
// - Sequences are packed.
// - The map and the lists would take more than VKF_DEFAULT_BACKWARD_SCRATCH_BYTES.
// - A list would have more than VKF_MAX_LIST_TILES tiles.
void chooseBackwardMap(const CheckedBackward& backward, BackwardDecision* decision);

} // namespace vkf
