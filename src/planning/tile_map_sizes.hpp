// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "planning/decision.hpp"
#include "problem/problem.hpp"

namespace vkf {

constexpr uint64_t mapWordBytes = 16;     // four bits for each of 32 tiles
constexpr uint64_t mapPairOperations = 8; // what a look at a pair counts against the work budget

// How large a map of tiles is.
struct TileMapSizes {
    uint64_t maps = 0;     // one for all, for each sequence, or for each head or group of packed heads of each sequence
    uint64_t rowTiles = 0; // of each map
    uint64_t wordKeys = 0; // keys of a word of the map
    uint64_t words = 0;
};
// VKF_MAP_*: which heads and sequences share a map.
uint32_t kindOf(const TileMapChoice& map);
TileMapSizes tileMapSizes(const CheckedProblem& problem, const TileMapChoice& map, uint32_t packedHeads);

} // namespace vkf
