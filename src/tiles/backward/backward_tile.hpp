// SPDX-License-Identifier: MIT
//
// Tile choice of the backward pass on path scalar. It depends on plain data alone: a device and a problem.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/caps.hpp"
#include "tiles/kernel_tile.hpp"
#include "tiles/tile_search.hpp"

namespace vkf {

// What a workgroup of shaders/backward/backward_scalar.comp owns, VKF_OWNS_*.
enum class BackwardOwner : uint32_t { rows, keys, bias };

// What decides the tile of one kernel of the backward pass.
struct BackwardTileProblem {
    BackwardOwner owner{};
    uint32_t headDim = 0;
    uint32_t valueDim = 0;
    bool makesDqOrDk = false; // dq or dk
    bool makesDv = false;     // dv
    uint32_t owned = 0;       // rows or keys of a typical sequence
    uint64_t heads = 0;       // that own rows or keys, of all sequences
    bool dropout = false;
    TileProblem call{};   // the forward call on path coopmat, which tuning data is about
    bool storesP = false; // path coopmat: the kernel stores p and ds, and makes no sums
};

// How the kernel spreads a tile over a workgroup. shaders/backward/pair_products.glsl explains the numbers.
struct BackwardTile {
    BackwardOwner owner{};
    uint32_t groups = 0;        // of lanes; 0 = no tile
    uint32_t lanes = 0;         // invocations that share an owned row or key
    uint32_t threadOwned = 0;   // rows or keys that an invocation owns
    uint32_t threadVisited = 0; // keys or rows that it pairs with them; at most threadOwned
    uint32_t chunkDim4 = 0;     // columns staged at once for scores, in fours
    uint32_t chunkVisited = 0;  // rows staged at once for sums
    uint32_t headColumns4 = 0;  // columns of dq or dk of an invocation, in fours
    uint32_t valueColumns4 = 0; // columns of dv of an invocation, in fours

    bool makesDqOrDk() const { return headColumns4 != 0; }
    bool makesDv() const { return valueColumns4 != 0; }
    bool needsDp() const { return owner != BackwardOwner::keys || makesDqOrDk(); }
    uint32_t workgroupSize() const { return groups * lanes; }
    uint32_t owned() const { return groups * threadOwned; }
    uint32_t visited() const { return lanes * threadVisited; }
    uint32_t rows() const { return owner == BackwardOwner::keys ? visited() : owned(); }
    uint32_t keys() const { return owner == BackwardOwner::keys ? owned() : visited(); }
    uint32_t sharedBytes() const;
    // Registers of an invocation that hold pairs and sums, what is fetched, and the fragments that are multiplied.
    uint32_t registers() const;
    std::string text(uint32_t splits) const;
};

// Fills *considered, unless null. A tile without a workgroup says that the device has too little shared memory.
BackwardTile chooseBackwardTile(const Caps& caps, const BackwardTileProblem& problem,
                                ConsideredTiles* considered = nullptr);

// The tiles of the kernels that write dk and dv: one for both, or one each, of the same keys and rows. A kernel for
// both computes seven products with the one that writes dq, two kernels compute eight. Two kernels are chosen where an
// invocation then owns more keys: it reads shared memory less often.
std::vector<BackwardTile> chooseKeyTiles(const Caps& caps, const BackwardTileProblem& problem);

} // namespace vkf
