// SPDX-License-Identifier: MIT
//
// Bytes that the kernels of a plan move, counted before caches: what a plan asks of the memory, beside what the
// papers' formulas (traffic.hpp) say of its algorithm.
#ifndef VKFLASH_TOOLS_PLAN_TRAFFIC_HPP
#define VKFLASH_TOOLS_PLAN_TRAFFIC_HPP

#include "model/traffic.hpp"

namespace vkf::tools {

// q once, or once for each tile of keys where a workgroup does not keep it; k and v of the tiles that a row tile's
// mask reaches, once for each row tile of each query head; o and lse once; parts of split keys once each way. Path
// standard: S, P, and m and l as its three kernels read and write them, P in the type of the product. Path key_outer:
// o, m and l in and out for each tile of keys that rows meet. Key lengths count as whole and block masks as open.
Traffic planTraffic(const VkfProblem& problem, const VkfPlanInfo& plan);

} // namespace vkf::tools

#endif
