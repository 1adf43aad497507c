// SPDX-License-Identifier: MIT
//
// The facts of a checked problem that decide its tile, and the amount of work of a tile.
#pragma once

#include <cstdint>
#include <optional>

#include "problem/problem.hpp"

namespace vkf {

// The facts of a problem that decide its tile on all paths except decode.
struct TileProblem {
    uint32_t headDim;
    uint32_t valueDim;
    uint32_t queryRows;
    uint64_t heads;      // query heads of all sequences
    bool outputF32;      // the type of o is fp32
    uint32_t keys = 0;   // the most that one row can see
    bool masked = false; // causal or a window
    VkfPath path = VKF_PATH_AUTO;
    std::optional<VkfType> type{}; // of q, k, v and o if all have the same type
    uint32_t maskBlock = 0;        // rows and keys of a block of the block mask; 0 = no block mask
    uint32_t packedHeads = 1;      // query heads whose rows share tiles
    uint32_t biasBits = 0;         // of one element of the bias; 0 = no bias
    bool bf16x3 = false;           // path coopmat multiplies fp32 numbers as bf16x3
    bool keyMask = false;          // a boolean mask, not of few last keys, or a list says which keys a row sees
    bool gathers = false;          // rows of q, k or v are not whole words, so that elements are loaded one by one

    // Whether every tile lies inside one block of the block mask.
    bool liesInOneBlock(uint32_t tileRows, uint32_t tileKeys) const {
        return maskBlock % tileRows == 0 && maskBlock % tileKeys == 0;
    }

    // Packed rows, which tiles divide.
    uint64_t rows() const { return uint64_t{queryRows} * packedHeads; }
    // Workgroups of a fused kernel without splits: one for each tile of packed rows.
    uint64_t workgroups(uint32_t tileRows) const { return (rows() + tileRows - 1) / tileRows * (heads / packedHeads); }
};

TileProblem tileProblem(VkfPath path, const CheckedProblem& problem);

// Query heads whose rows a path packs into the same tiles.
uint32_t packedHeads(VkfPath path, const CheckedProblem& problem);

// Whether a workgroup of the path takes a tile of query rows and walks over the tiles of keys: scalar, coopmat and
// wgmma.
bool walksTiles(VkfPath path);

// Tiles of the rows of `packedHeads` heads: of one sequence, or the tile numbers of all packed sequences.
uint64_t tilesOfRows(const CheckedProblem& problem, uint32_t packedHeads, uint32_t tileRows);

// The numbers of VKF_FIRST_SEQUENCE_TILE for packed sequences. Where rows have lists of chosen keys of their own, each
// row has whole tiles, which are counted like packed rows in tiles of one row.
struct SequenceTiles {
    uint32_t packedHeads;
    uint32_t tileRows;
};
SequenceTiles sequenceTiles(const VkfProblem& p, uint32_t packedHeads, uint32_t tileRows);

// The sizes for which tiles of rows are chosen: query rows of a head that may share a tile, and sequences of so many
// rows. A row with a list of chosen keys of its own is a sequence here.
uint32_t rowsSharingTiles(const VkfProblem& p);
uint64_t sequencesOfTiles(const VkfProblem& p);

// Whether the boolean mask hides so few last keys of a sequence that nearly all tiles of a long cache are full.
bool masksFewLastKeys(const VkfProblem& p);

// The most keys that a tile of `tileRows` rows can see. 0 rows stand for one row.
double maxVisibleKeys(const CheckedProblem& problem, uint32_t tileRows = 0);

// The keys for which tiles are chosen: the most that one row can see, in a sequence of typicalKeys.
uint32_t typicalVisibleKeys(const CheckedProblem& problem);

// Tiles of keys of a key split of splitKeys keys. Splits of long sequences have more (common/item.glsl).
inline uint32_t splitTiles(const VkfProblem& problem, uint32_t tileKeys) {
    return problem.splitKeys / tileKeys + (problem.splitKeys % tileKeys != 0 ? 1 : 0);
}

// The operations of the call: VkfPlanInfo::operations.
double callOperations(const CheckedProblem& problem);

// The operations of its backward pass: VkfBackwardInfo::operations.
double backwardOperations(const CheckedProblem& forward);

// The most operations of one workgroup of a fused kernel.
double tileOperations(const CheckedProblem& problem, uint32_t tileRows);

} // namespace vkf
