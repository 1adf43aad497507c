// SPDX-License-Identifier: MIT
//
// The lists of the tiles that kernels of the backward pass visit, if it has a map of tiles
// (shaders/backward/tile_lists.glsl): which kernels have them, and where.
#pragma once

#include <cstdint>
#include <vector>

#include "planning/decision.hpp"
#include "problem/problem.hpp"
#include "tiles/backward/backward_sum_tile.hpp"
#include "tiles/backward/backward_tile.hpp"
#include "tiles/kernel_tile.hpp"

namespace vkf {

struct BackwardDecision;

// What decides the lists of a kernel. Kernels for which all of it is equal share their lists.
struct ListedTiles {
    BackwardOwner owner{}; // rows or keys
    uint32_t rows = 0;     // of a tile
    uint32_t keys = 0;
    uint32_t most = 0; // tiles that an owned tile visits, in a band if it has a list for each

    bool operator==(const ListedTiles&) const = default;
};

// For a kernel that visits all tiles of rows or keys.
template <KernelTile Tile> ListedTiles listedTiles(const CheckedProblem& forward, const Tile& tile) {
    const VkfProblem& p = forward.fields;
    const uint64_t most =
        tile.owner == BackwardOwner::keys ? tilesOf(p.queryRows, tile.rows()) : tilesOf(p.keys, tile.keys());
    return {tile.owner, tile.rows(), tile.keys(), static_cast<uint32_t>(most)};
}
// For a kernel that sums over stored ds and p. An owner of rows visits the keys of a band.
ListedTiles listedSteps(const CheckedProblem& forward, const BackwardDecision& decision, const BackwardSumTile& tile);

// The lists of a kernel: one for each owned tile of each band and map.
struct TileLists {
    ListedTiles tiles;
    uint32_t readRows = 0; // VKF_ID_READ_ROWS
    uint64_t lists = 0;
    uint64_t begin = 0; // bytes from the begin of the map to the first list

    uint64_t bytes() const;
    // Sets the constants that say where the lists are.
    void set(Constants* constants) const;
};

// The lists of all kernels of a backward pass whose tiles and map are decided, one after another behind the map.
std::vector<TileLists> chooseTileLists(const CheckedProblem& forward, const BackwardDecision& decision);

// Sets the constants of a kernel that visits tiles by lists. Nothing to set without a map.
void setTileLists(const std::vector<TileLists>& lists, const ListedTiles& tiles, Constants* constants);

} // namespace vkf
