// SPDX-License-Identifier: MIT
//
// The interface of the tiles of all kernels.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "shared/work_items.h"

namespace vkf {

// Tiles of `tile` rows or keys that cover `count` of them.
inline uint64_t tilesOf(uint64_t count, uint32_t tile) { return VKF_TILES(count, tile); }

// A default tile has a workgroupSize() of 0 and stands for "no tile".
template <typename Tile>
concept KernelTile = requires(const Tile& tile, uint32_t splits) {
    { tile.workgroupSize() } -> std::same_as<uint32_t>;
    { tile.rows() } -> std::same_as<uint32_t>; // of queries
    { tile.keys() } -> std::same_as<uint32_t>;
    { tile.sharedBytes() } -> std::same_as<uint32_t>;
    { tile.registers() } -> std::same_as<uint32_t>;     // 32-bit registers of an invocation that hold parts of the tile
    { tile.text(splits) } -> std::same_as<std::string>; // tile and splits as tuning data writes them, or would
};

// A tile, and how the keys are split for it.
template <typename Tile> struct TilePlan {
    Tile tile{};
    uint32_t splits = 1;
    bool tuned = false; // tuning data chose the tile
};

} // namespace vkf
