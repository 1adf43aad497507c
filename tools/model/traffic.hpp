// SPDX-License-Identifier: MIT
//
// Bytes that attention moves between device memory and the chip, without caches, as the papers count each algorithm. A
// comparison with measured times shows what caches save.
#ifndef VKFLASH_TOOLS_TRAFFIC_HPP
#define VKFLASH_TOOLS_TRAFFIC_HPP

#include <vector>

#include "model/tile_budget.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

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

} // namespace vkf::tools

#endif
