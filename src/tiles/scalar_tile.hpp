// SPDX-License-Identifier: MIT
//
// Tile choice as a pure function of what a device is and what is asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device/caps.hpp"
#include "tiles/tile_search.hpp"
#include "tiles/tuned_device.hpp"

namespace vkf {

// How the tiled kernels spread a tile over a workgroup; shaders/scalar/scores.glsl and output.glsl tell what
// the numbers mean.
struct Tile {
    uint32_t workgroupSize = 0;
    uint32_t lanes = 0;          // invocations that share a query row
    uint32_t threadRows = 0;     // query rows of an invocation
    uint32_t threadKeys = 0;     // keys of an invocation
    uint32_t threadColumns4 = 0; // columns of o of an invocation, in fours
    uint32_t chunkDim4 = 0;      // columns of q and k staged at once, in fours
    uint32_t chunkKeys = 0;      // rows of v staged at once
    uint32_t splits = 1;         // parts of the keys, on path scalar
    bool tuned = false;          // chosen by tuning data

    uint32_t rows() const { return workgroupSize / lanes * threadRows; }
    uint32_t keys() const { return lanes * threadKeys; }
    uint32_t sharedBytes() const;
    // fp32 registers that hold an invocation's part of s, o and the fragments multiplied at a time.
    uint32_t registers() const;
    std::string text() const;
};

// What of a problem decides its tile.
struct TileProblem {
    uint32_t headDim;
    uint32_t valueDim;
    uint32_t queryRows;
    uint64_t heads;      // query heads of all sequences
    bool outputF32;      // o is stored as fp32
    uint32_t keys = 0;   // that a row may see at most
    bool masked = false; // causal or a window
    VkfPath path = VKF_PATH_AUTO;
    std::optional<VkfType> type{}; // of q, k, v and o, if all have the same
    uint32_t maskBlock = 0;        // rows and keys of a block of a block mask; 0 = none
    uint32_t packedHeads = 1;      // whose rows share tiles
    uint32_t biasBits = 0;         // of an element of the bias; 0 = none

    // Whether no tile lies in two blocks of a block mask, so that tiles are open or closed as a whole.
    bool keepsBlocksWhole(uint32_t tileRows, uint32_t tileKeys) const {
        return maskBlock % tileRows == 0 && maskBlock % tileKeys == 0;
    }

    // Of which tiles are made.
    uint64_t rows() const { return uint64_t{queryRows} * packedHeads; }
    // Of a fused kernel: one for each tile of rows of each head, or of those that are packed.
    uint64_t workgroups(uint32_t tileRows) const { return (rows() + tileRows - 1) / tileRows * (heads / packedHeads); }
};

// Tiles to choose among, by what they make of the blocks of a block mask. Blocks that only very small tiles
// keep whole are cut instead, by tiles that are not too large: the more blocks a tile touches, the fewer tiles are
// closed.
enum class BlockTiles { whole, cut };
// Of a tile that is not among them.
Objection blockObjection(BlockTiles tiles, const TileProblem& problem, uint32_t tileRows, uint32_t tileKeys);

// Into how many parts path scalar splits the keys for a tile. A part that a workgroup takes costs more time than the
// merge of all parts, so that as many workgroups as run at once are worth it, and parts may be short.
uint32_t chooseScalarSplits(const Tile& tile, const TileProblem& problem);

// Whether an entry of tuning data is about the problem.
bool isAbout(const TuningEntry& entry, const TileProblem& problem);

// The tile of the portable kernel, and of the unfused baseline, which is made of the same pieces. Fills
// *considered, unless null.
Tile chooseScalarTile(const TunedDevice& device, const TileProblem& problem, ConsideredTiles* considered = nullptr);

} // namespace vkf
