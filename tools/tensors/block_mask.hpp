// SPDX-License-Identifier: MIT
//
// Block masks at random, and what a block mask leaves to compute.
#ifndef VKFLASH_TOOLS_BLOCK_MASK_HPP
#define VKFLASH_TOOLS_BLOCK_MASK_HPP

#include <cstdint>
#include <vector>

#include "vkflash/host.hpp"

namespace vkf::tools {

// A mask of its own for each head of each sequence. The problem has its shape and maskBlock.
void separateBlockMasks(VkfProblem& problem);

// Words as vkfBlockMaskLayout tells, each block open with the probability `density`.
std::vector<uint32_t> randomBlockMask(const VkfProblem& problem, double density, uint64_t seed);

// (query row, key) pairs of all heads that open blocks, causal mask and window leave.
double visiblePairs(const VkfProblem& problem, const std::vector<uint32_t>& blockMask);

} // namespace vkf::tools

#endif
