// SPDX-License-Identifier: MIT
//
// The flags of a block mask, and block masks from files.
#ifndef VKFLASH_TOOLS_BLOCK_MASK_OPTIONS_HPP
#define VKFLASH_TOOLS_BLOCK_MASK_OPTIONS_HPP

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

// The words of a mask from a file, bool or uint8, not 0 = open, of shape [rowBlocks, keyBlocks], with heads in
// front of these, with sequences in front of those; 1 head or sequence serves all. Sets the problem's strides.
// ProgramError starts with `name`.
std::vector<uint32_t> packBlockMask(const Tensor& file, const std::string& name, VkfProblem& problem);

} // namespace vkf::tools

#endif
