// SPDX-License-Identifier: MIT
//
// The map of tiles (shaders/masks/tile_map.glsl), from which kernels know empty and partial tiles: whether a call has a
// map, and the phases that make it.
#pragma once

#include "device/caps.hpp"
#include "problem/problem.hpp"
#include "schedule/schedule.hpp"

namespace vkf {

// Adds two phases before the attention phase: one makes the map, the other puts its tiles of rows in order. Reserves
// scratch memory for both, and specializes the attention kernel for the map. Does nothing in these cases:
// - There is no per-key mask, no key, or no attention phase.
// - The path does not walk over tiles of keys (walksTiles).
// - Sequences are packed.
// - The map would have more than 2^32 - 1 words.
void addTileMap(const Caps& caps, const CheckedProblem& problem, Schedule* schedule);

} // namespace vkf
