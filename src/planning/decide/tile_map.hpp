// SPDX-License-Identifier: MIT
//
// The map of tiles (shaders/masks/tile_map.glsl), from which kernels know empty and partial tiles: whether a call has a
// map, and which one.
#pragma once

#include <cstdint>
#include <optional>

#include "device/caps.hpp"
#include "planning/decision.hpp"
#include "problem/problem.hpp"

namespace vkf {

// Whether the time that a map can save is longer than the time that it takes. `operations`: of the kernels that it
// serves. `bytes`: what the map reads.
bool mapPays(const Caps& caps, double operations, double bytes);

// Whether the map looks at the bias, because the time that it can save is longer than the time that it takes. Depends
// on sizes and types alone. False without a bias, and for packed sequences.
bool mapsBias(const Caps& caps, const CheckedProblem& problem);

// The map of a call whose path, tile and splits are decided. If it looks at the bias, there are several classes of
// rows. None in these cases:
// - There is no key, or the output is empty.
// - There is no per-key mask, the map would not look at a bias, and there are no first keys, or not enough work beside
//   them.
// - The path does not walk over tiles of keys (walksTiles).
// - Sequences are packed.
// - The map would have more words, or a class of rows more work items, than shaders count (VKF_MAX_COUNT).
std::optional<TileMapChoice> chooseTileMap(const Caps& caps, const CheckedProblem& problem, const Decision& decision);

// A map of the masks alone, with tiles of so many rows and keys.
TileMapChoice mapOfMasks(const VkfProblem& problem, uint32_t rows, uint32_t keys);

} // namespace vkf
