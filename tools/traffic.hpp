// SPDX-License-Identifier: MIT
//
// The traffic ledger: bytes that each order of attention moves between the chip and its memory, if nothing but the
// tiles of one workgroup stays on the chip (the FlashAttention paper, theorem 2, with constants). Caches make it less.
#ifndef VKFLASH_TOOLS_TRAFFIC_HPP
#define VKFLASH_TOOLS_TRAFFIC_HPP

#include "vkflash/vkflash.h"

namespace vkf::tools {

// Where a prediction starts: tensors of the problem, tile of the plan.
using TrafficOrder = double (*)(const VkfProblem& problem, const VkfPlanInfo& plan);

// Unfused: q, k, v and o once, and the fp32 matrix N x M four times: scores written, read and replaced by weights,
// weights read.
double standardTraffic(const VkfProblem& problem, const VkfPlanInfo& plan);

// Query tiles outside, K/V tiles inside (FlashAttention-2): q and o once, all of k and v for each query tile.
double queryOuterTraffic(const VkfProblem& problem, const VkfPlanInfo& plan);

// K/V tiles outside, query tiles inside (FlashAttention, algorithm 1): k and v once; for each K/V tile q is read, and
// o, m and l, all three in fp32, are read and written.
double keyOuterTraffic(const VkfProblem& problem, const VkfPlanInfo& plan);

} // namespace vkf::tools

#endif
