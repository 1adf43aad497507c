// SPDX-License-Identifier: MIT
#include "planning/tile_map_sizes.hpp"

#include "shared/constant_ids.h"
#include "tiles/tile_problem.hpp"

namespace vkf {

uint32_t kindOf(const TileMapChoice& map) {
    return map.byHead ? VKF_MAP_BY_HEAD : map.ofAll ? VKF_MAP_OF_ALL : VKF_MAP_SHARED;
}

TileMapSizes tileMapSizes(const CheckedProblem& problem, const TileMapChoice& map, uint32_t packedHeads) {
    constexpr uint32_t wordTiles = 32;
    const VkfProblem& p = problem.fields;
    TileMapSizes sizes;
    sizes.maps = uint64_t{map.ofAll ? 1 : p.batch} * (map.byHead ? uint64_t{p.queryHeads / packedHeads} : 1);
    sizes.rowTiles = tilesOfRows(problem, packedHeads, map.rows);
    sizes.wordKeys = uint64_t{wordTiles} * map.keys;
    sizes.words = sizes.maps * sizes.rowTiles * VKF_TILES(p.keys, sizes.wordKeys);
    return sizes;
}

} // namespace vkf
