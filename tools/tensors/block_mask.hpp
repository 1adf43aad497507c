// SPDX-License-Identifier: MIT
//
// Random block masks.
#pragma once

#include <cstdint>
#include <vector>

#include "vkflash/host.hpp"

namespace vkf::tools {

// Sets the strides for a separate mask for each head of each sequence. The problem already has its shape and maskBlock.
void separateBlockMasks(VkfProblem& problem);

// The words of a mask in the layout of vkfGetBlockMaskLayout. Each block is open with probability `density`.
std::vector<uint32_t> randomBlockMask(const VkfProblem& problem, double density, uint64_t seed);

} // namespace vkf::tools
