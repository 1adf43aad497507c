// SPDX-License-Identifier: MIT
//
// The map of tiles of a backward pass (shaders/backward/mapped_tiles.glsl).
#pragma once

#include <optional>

#include "planning/backward/backward_decision.hpp"

namespace vkf {

// The map of a backward pass whose tiles are decided. Its tiles divide the tiles of all kernels. None in these cases:
// - No function of the caller's own drops pairs.
// - There is no row or no key.
// - Sequences are packed.
// - The map would take more than VKF_DEFAULT_BACKWARD_SCRATCH_BYTES.
std::optional<TileMapChoice> chooseBackwardMap(const CheckedBackward& backward, const BackwardDecision& decision);

} // namespace vkf
