// SPDX-License-Identifier: MIT
#include "model/tile_budget.hpp"

#include <algorithm>

namespace vkf::tools {

TileSize algorithm1Tile(uint64_t onChipBytes, TileDims dims, uint32_t elementBytes) {
    const uint64_t d = std::max({dims.head, dims.value, 1U});
    const uint64_t elements = onChipBytes / elementBytes;
    const uint64_t keys = (elements + 4 * d - 1) / (4 * d);
    return {static_cast<uint32_t>(std::min(keys, d)), static_cast<uint32_t>(keys)};
}

uint64_t stagedBytes(TileSize tile, TileDims dims, uint32_t elementBytes) {
    const uint64_t q = uint64_t{tile.rows} * dims.head;
    const uint64_t kv = uint64_t{tile.keys} * (uint64_t{dims.head} + dims.value);
    return (q + kv) * elementBytes;
}

uint64_t wholeTileBytes(TileSize tile, TileDims dims, uint32_t elementBytes) {
    const uint64_t s = uint64_t{tile.rows} * tile.keys;
    const uint64_t o = uint64_t{tile.rows} * dims.value;
    const uint64_t ml = uint64_t{2} * tile.rows;
    return stagedBytes(tile, dims, elementBytes) + (s + o + ml) * elementBytes;
}

std::vector<TileSize> fittingTiles(TileBytes bytes, uint64_t onChipBytes, TileDims dims, uint32_t elementBytes) {
    std::vector<TileSize> tiles;
    for (const uint32_t rows : usualTileExtents)
        for (const uint32_t keys : usualTileExtents)
            if (bytes({rows, keys}, dims, elementBytes) <= onChipBytes)
                tiles.push_back({rows, keys});
    return tiles;
}

} // namespace vkf::tools
