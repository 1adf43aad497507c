// SPDX-License-Identifier: MIT
//
// Rejections to a tile. The choices of all paths use these functions, so that one reason means the same everywhere.
#pragma once

#include <cstdint>
#include <initializer_list>

#include <vkflash/inspect.h>
#include <vkflash/vkflash.h>

#include "device/caps.hpp"
#include "tiles/kernel_tile.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {

// A value that is beyond a limit. VKF_TILE_SUITS means that nothing stands against the tile.
struct Rejection {
    VkfTileReason reason = VKF_TILE_SUITS;
    uint64_t value = 0;
    uint64_t limit = 0;
};

Rejection rejectIf(bool applies, const Rejection& rejection);

// The first rejection of the list that applies.
Rejection firstOf(std::initializer_list<Rejection> rejections);

// ---- The device ------------------------------------------------------------------------------------------------

Rejection exceedsDevice(uint32_t workgroupSize, uint32_t sharedBytes, const Caps& caps);

template <KernelTile Tile> Rejection exceedsDevice(const Tile& tile, const Caps& caps) {
    return exceedsDevice(tile.workgroupSize(), tile.sharedBytes(), caps);
}

// Lanes that share a row talk through one subgroup, and a workgroup consists of full subgroups.
Rejection breaksSubgroups(uint32_t lanes, uint32_t workgroupSize, const Caps& caps);

// The compiler would move values from registers to memory.
Rejection spillsRegisters(uint32_t registers, uint32_t most);

// ---- The problem -----------------------------------------------------------------------------------------------

// The dimension is outside of the range that the tile is for.
Rejection otherDimension(uint32_t dim, uint32_t least, uint32_t most);

// The tile has at least twice as many rows as there are.
Rejection halfEmpty(uint32_t tileRows, uint64_t rows);

// More workgroups would finish sooner.
Rejection fewWorkgroups(uint64_t workgroups, uint64_t least);

// The kernels cannot count the partial results of this many splits.
Rejection tooManyPartialResults(const TileProblem& problem, uint32_t splits, const Caps& caps);

// The tiles to choose among when there is a block mask. As far as this mask goes, a tile inside one block is full or
// empty. If blocks are so small that only very small tiles lie inside one, tiles span several blocks. These tiles are
// not too large: the more blocks a tile touches, the fewer tiles are empty.
enum class BlockTiles { inOneBlock, inSeveralBlocks };
Rejection otherBlocks(BlockTiles tiles, const TileProblem& problem, uint32_t tileRows, uint32_t tileKeys);

// The tile lies in several blocks of the block mask.
Rejection spansBlocks(const TileProblem& problem, uint32_t tileRows, uint32_t tileKeys);

} // namespace vkf
