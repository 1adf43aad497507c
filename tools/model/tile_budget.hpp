// SPDX-License-Identifier: MIT
//
// Tile sizes by the formulas that papers and tutorials give for an on-chip memory. The library does not choose by them,
// because it knows which of these matrices its kernels hold in registers.
#ifndef VKFLASH_TOOLS_TILE_BUDGET_HPP
#define VKFLASH_TOOLS_TILE_BUDGET_HPP

#include <array>
#include <cstdint>
#include <vector>

namespace vkf::tools {

struct TileSize {
    uint32_t rows; // Br or Bq: query rows
    uint32_t keys; // Bc or Bk

    bool operator==(const TileSize&) const = default;
};

// Head dimensions of q and k, and of v and o. The formulas' d if both are equal.
struct TileDims {
    uint32_t head;
    uint32_t value;
};

// Dao et al. 2022 (arXiv 2205.14135), algorithm 1, line 1: Bc = ceil(M / 4d), Br = min(ceil(M / 4d), d). M is in
// elements, and d is the larger of the two dimensions.
// Four blocks of that size (q, k, v and o) fill the memory. Br <= d, so S is no larger than one block.
TileSize algorithm1Tile(uint64_t onChipBytes, TileDims dims, uint32_t elementBytes);

// (Bq + 2 Bk) D: q, k and v of a tile. s and o are in registers.
uint64_t stagedBytes(TileSize tile, TileDims dims, uint32_t elementBytes);

// Br d + 2 Bc d + Br Bc + Br d + 2 Br: q, k, v, s, o, m and l of a tile.
uint64_t wholeTileBytes(TileSize tile, TileDims dims, uint32_t elementBytes);

// Usual numbers of rows and keys of a tile.
inline constexpr std::array<uint32_t, 4> usualTileExtents = {32, 64, 128, 256};

using TileBytes = uint64_t (*)(TileSize, TileDims, uint32_t);

// The usual tile sizes that fit, with the fewest rows first.
std::vector<TileSize> fittingTiles(TileBytes bytes, uint64_t onChipBytes, TileDims dims, uint32_t elementBytes);

} // namespace vkf::tools

#endif
