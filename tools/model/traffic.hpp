// SPDX-License-Identifier: MIT
//
// Bytes that attention moves between device memory and the chip, without caches, as the papers count each algorithm. A
// comparison with measured times shows what caches save.
#pragma once

#include <cstdint>
#include <vector>

#include "vkflash/vkflash.hpp"

namespace vkf::tools {

// ---- Tile sizes by the formulas that papers and tutorials give for an on-chip memory. The library does not choose by
// them, because it knows which of these matrices its kernels hold in registers. ---------------------------

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

using TileBytes = uint64_t (*)(TileSize, TileDims, uint32_t);

// The tile sizes of 32, 64, 128 or 256 rows and keys that fit, with the fewest rows first.
std::vector<TileSize> fittingTiles(TileBytes bytes, uint64_t onChipBytes, TileDims dims, uint32_t elementBytes);

// ---- Bytes -------------------------------------------------------------------------------------------

struct TrafficEntry {
    const char* what; // "q", "S", ...
    double read;      // bytes
    double written;
};

struct Traffic {
    std::vector<TrafficEntry> entries;

    double read() const;
    double written() const;
    double total() const { return read() + written(); }
};

// The shape as the papers count it: every row sees every key, and each query head reads its own keys and values.
struct TrafficShape {
    double heads; // query heads of all sequences
    double rows;
    double keys;
    TileDims dims;
    double elementBytes;     // q, k, v and o
    double scoreBytes;       // S, if it is in memory
    double probabilityBytes; // P
    double stateBytes;       // unfinished m, l and o: fp32
    double lseBytes;         // 0 if the caller does not want lse
};

// The shape of a problem without its mask. S and P have the type of q.
TrafficShape trafficShape(const VkfProblem& problem);

// Three passes: q and k in, S out; S in, P out; P and v in, o out. Theta(N d + N^2) elements (Dao et al. 2022, arXiv
// 2205.14135, theorem 2). S and P make 4 N^2 of them.
Traffic standardTraffic(const TrafficShape& shape);

// Algorithm 1 of the same paper, with the outer loop over key tiles. k and v move once. For each of the Tc = ceil(Nk /
// Bc) tiles, all of q moves in, and m, l and o move in and out. Theta(N^2 d^2 / M) elements with Bc = Theta(M / d).
Traffic keyOuterTraffic(const TrafficShape& shape, TileSize tile);

// Outer loop over row tiles. q moves in and o out once; k and v move in for each of the Tr = ceil(Nq / Br) tiles; lse
// moves out.
Traffic queryOuterTraffic(const TrafficShape& shape, TileSize tile);

// The bounds of theorem 2 without their constants, in elements of one head. onChip is M in elements.
double theorem2Standard(double n, double d);
double theorem2Tiled(double n, double d, double onChip);

// The functions above for a problem with the tile and the key splits of a plan. Benches use them for what the library
// runs. S is in fp32, P has the type of the product, and partial results of key splits pass through scratch.
using TrafficOrder = Traffic (*)(const VkfProblem& problem, const VkfPlanInfo& plan);
Traffic standardTraffic(const VkfProblem& problem, const VkfPlanInfo& plan);
Traffic keyOuterTraffic(const VkfProblem& problem, const VkfPlanInfo& plan);
Traffic queryOuterTraffic(const VkfProblem& problem, const VkfPlanInfo& plan);

// ---- The backward pass. All algorithms compute dq, dk and dv. --------------------------------------

// Stored P: the forward pass kept it (Dao et al. 2022, arXiv 2205.14135, algorithm 3). P is read for dv and for dS. dP
// and dS pass through memory. Writing P in the forward pass does not count.
Traffic storedBackwardTraffic(const TrafficShape& shape);

// P recomputed from lse, with the outer loop over key tiles (algorithm 4 of the same paper, with lse in place of m and
// l). k, v, dk and dv move once. For each of the Tc tiles of keys, q, o, dO and lse move in, and dq moves in and out.
Traffic keyOuterBackwardTraffic(const TrafficShape& shape, TileSize tile);

// P recomputed from lse by kernels of this library. One owns tiles of keys and writes dk and dv, the other owns tiles
// of rows and writes dq. A kernel before them reads o and dO, and writes lse and delta of each row.
Traffic ownedBackwardTraffic(const TrafficShape& shape, TileSize tile);

// q, k, v, o, dO and lse read once; dq, dk and dv written once.
double minBackwardBytes(const TrafficShape& shape);

} // namespace vkf::tools
