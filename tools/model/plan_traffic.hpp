// SPDX-License-Identifier: MIT
//
// Bytes that the kernels of a plan read and write, counted without caches. The papers' formulas (traffic.hpp) count the
// algorithm instead.
#pragma once

#include "model/traffic.hpp"

namespace vkf::tools {

// Counted per array:
// - q: once, or once for each key tile if a workgroup does not keep it. With key splits once for each split.
// - k, v: the key tiles that a row tile's mask reaches, once for each row tile of each head. Query heads count, or KV
//   heads if their query heads share row tiles.
// - o, lse: once.
// - partial results of key splits: once in each direction.
// - path standard: S, P, m and l as its three kernels read and write them. P has the type of the product.
// - path key_outer: o, m and l are read and written for each key tile that a row meets.
//
// All keys count although key lengths may be shorter, and all blocks of a block mask count as open.
Traffic planTraffic(const VkfProblem& problem, const VkfPlanInfo& plan);

// Number of (query row, key) pairs of all heads that the block mask, the causal mask and the window leave. `blockMask`
// has the layout of vkfGetBlockMaskLayout.
double visiblePairs(const VkfProblem& problem, const std::vector<uint32_t>& blockMask);

} // namespace vkf::tools
