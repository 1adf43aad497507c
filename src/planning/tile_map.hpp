// SPDX-License-Identifier: MIT
//
// The map of tiles (shaders/masks/tile_map.glsl), from which kernels know empty and partial tiles: whether a call has a
// map, and the phases that make it.
#pragma once

#include "device/caps.hpp"
#include "planning/plan.hpp"
#include "problem/problem.hpp"

namespace vkf {

// Whether the map looks at the bias, because the time that it can save is longer than the time that it takes. Depends
// on sizes and types alone. False without a bias, and for packed sequences.
bool mapsBias(const Caps& caps, const CheckedProblem& problem);

// Adds two phases before the attention phase: one makes the map, the other puts its tiles of rows in order. Reserves
// scratch memory for both, and specializes the attention kernel for the map. If the map looks at the bias, the
// attention phase becomes two phases that run at the same time, one for each class of rows. Does nothing in these
// cases:
// - There is no key, or no attention phase.
// - There is no per-key mask, and the map would not look at a bias.
// - The path does not walk over tiles of keys (walksTiles).
// - Sequences are packed.
// - The map would have more words, or a class of rows more work items, than shaders count (VKF_MOST_COUNT).
void addTileMap(const Caps& caps, const CheckedProblem& problem, AttentionPlan* plan);

} // namespace vkf
