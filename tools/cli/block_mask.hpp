// SPDX-License-Identifier: MIT
//
// Block masks of the program: from a file or at random, and what they leave to compute.
#ifndef VKFLASH_TOOLS_BLOCK_MASK_HPP
#define VKFLASH_TOOLS_BLOCK_MASK_HPP

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tensors/tensor_file.hpp"
#include "vkflash/host.hpp"

namespace vkf::tools {

// --mask-block: rows and keys of a block; 0 = not given.
void addMaskBlockOption(CLI::App& command, uint32_t& block);

// ProgramError if the share of open blocks is none, or there are no blocks.
void checkDensity(double density, uint32_t maskBlock);

// A mask of its own for each head of each sequence. The problem has its shape and maskBlock.
void separateBlockMasks(VkfProblem& problem);

// Words as vkfBlockMaskLayout tells, each block open with the probability `density`.
std::vector<uint32_t> randomBlockMask(const VkfProblem& problem, double density, uint64_t seed);

// The words of a mask from a file, bool or uint8, not 0 = open, of shape [rowBlocks, keyBlocks], with heads in
// front of these, with sequences in front of those; 1 head or sequence serves all. Sets the problem's strides.
// ProgramError starts with `name`.
std::vector<uint32_t> packBlockMask(const Tensor& file, const std::string& name, VkfProblem& problem);

// (query row, key) pairs of all heads that open blocks, causal mask and window leave.
double visiblePairs(const VkfProblem& problem, const std::vector<uint32_t>& blockMask);

} // namespace vkf::tools

#endif
