// SPDX-License-Identifier: MIT
//
// Bytes that a backward pass moves between device memory and the chip, without caches and without masks, as the papers
// count each algorithm. All of them compute dq, dk and dv.
#ifndef VKFLASH_TOOLS_GRADIENT_TRAFFIC_HPP
#define VKFLASH_TOOLS_GRADIENT_TRAFFIC_HPP

#include "model/traffic.hpp"

namespace vkf::tools {

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
double leastBackwardBytes(const TrafficShape& shape);

} // namespace vkf::tools

#endif
