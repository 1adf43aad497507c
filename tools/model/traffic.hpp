// SPDX-License-Identifier: MIT
//
// Bytes that attention moves between device memory and the chip, counted before caches, each algorithm as the papers
// count it. Times measured against these numbers tell what caches save.
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

// What the papers count: every row sees every key, and each query head reads keys and values of its own.
struct TrafficShape {
    double heads; // query heads of all sequences
    double rows;
    double keys;
    TileDims dims;
    double elementBytes; // of q, k, v and o
    double scoreBytes;   // of S, where it is in memory
    double weightBytes;  // of P
    double stateBytes;   // of m, l and o while they are not finished: fp32
    double lseBytes;     // 0 where lse is not asked for
};

// Of a problem without its mask, with S and P in the type of q.
TrafficShape trafficShape(const VkfProblem& problem);

// Three passes: q and k in, S out; S in, P out; P and v in, o out. Theta(N d + N^2) elements (Dao et al. 2022, arXiv
// 2205.14135, theorem 2), of which S and P are 4 N^2.
Traffic standardTraffic(const TrafficShape& shape);

// The same paper's algorithm 1, outer loop over tiles of keys: k and v once, and for each of the Tc = ceil(Nk / Bc)
// tiles all of q, and m, l and o in and out. Theta(N^2 d^2 / M) elements with Bc = Theta(M / d).
Traffic keyOuterTraffic(const TrafficShape& shape, TileSize tile);

// Outer loop over tiles of query rows: q in and o out once, k and v for each of the Tr = ceil(Nq / Br) tiles; lse out.
Traffic queryOuterTraffic(const TrafficShape& shape, TileSize tile);

// The bounds of theorem 2 without their constants, in elements of one head. onChip is M, in elements.
double theorem2Standard(double n, double d);
double theorem2Tiled(double n, double d, double onChip);

// The same of a problem and the tile and splits of a plan, for benches of what the library runs: S is in fp32, P in
// the type of the product, and parts of split keys go through scratch.
using TrafficOrder = Traffic (*)(const VkfProblem& problem, const VkfPlanInfo& plan);
Traffic standardTraffic(const VkfProblem& problem, const VkfPlanInfo& plan);
Traffic keyOuterTraffic(const VkfProblem& problem, const VkfPlanInfo& plan);
Traffic queryOuterTraffic(const VkfProblem& problem, const VkfPlanInfo& plan);

} // namespace vkf::tools

#endif
