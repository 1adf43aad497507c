// SPDX-License-Identifier: MIT
//
// The lists of the tiles that kernels of the backward pass visit, if it has a map of tiles
// (shaders/backward/tile_lists.glsl): which kernels have them, and where.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planning/decision.hpp"
#include "problem/problem.hpp"
#include "tiles/backward/backward_tile.hpp"

namespace vkf {

struct BackwardDecision;

// The lists of a kernel: one for each owned tile of each band and map. Kernels whose tiles are equal share them.
struct TileLists {
    BackwardOwner owner{}; // rows or keys
    uint32_t rows = 0;     // of a tile
    uint32_t keys = 0;
    uint32_t tiles = 0;    // most tiles of a list
    uint32_t readRows = 0; // VKF_ID_READ_ROWS
    uint64_t lists = 0;
    uint64_t begin = 0; // bytes from the begin of the map to the first list

    uint64_t bytes() const;
};

// The lists of all kernels of a backward pass whose tiles and map are decided, one after another behind the map.
std::vector<TileLists> chooseTileLists(const CheckedProblem& forward, const BackwardDecision& decision);

// Sets the constants of a kernel that visits tiles by lists: where they are. Nothing to set without a map.
void setTileLists(const std::vector<TileLists>& lists, BackwardOwner owner, uint32_t rows, uint32_t keys,
                  uint32_t tiles, Constants* constants);

// Most tiles that an owned tile of a kernel visits.
uint32_t visitedTiles(const CheckedProblem& forward, BackwardOwner owner, uint32_t rows, uint32_t keys);

} // namespace vkf
