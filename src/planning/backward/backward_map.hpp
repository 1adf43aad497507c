// SPDX-License-Identifier: MIT
//
// The map of tiles of a backward pass (shaders/backward/map_and_lists.glsl), and the lists that are made from it.
#pragma once

#include "planning/backward/backward_decision.hpp"

namespace vkf {

// Sets the map of a backward pass whose tiles are decided, and its lists. The tiles of the map divide those of all
// kernels. Without masks of single keys, rows or keys there is none. In these cases there is none either, and whyNoMap
// has the reason:
// - Sequences are packed.
// - The masks are built-in ones, and the device cannot run the kernels with lists, which need 16-bit storage and, on
//   matrices, a known element layout.
// - The masks are built-in ones, and the call has so few pairs that the map takes longer than it can save.
// - The map and the lists would take more than VKF_DEFAULT_BACKWARD_SCRATCH_BYTES.
// - A list would have more than VKF_MAX_LIST_TILES tiles.
void chooseBackwardMap(const Caps& caps, const CheckedBackward& backward, BackwardDecision* decision);

} // namespace vkf
