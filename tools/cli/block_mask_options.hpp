// SPDX-License-Identifier: MIT
//
// The flags of a block mask, and reading a block mask from a file.
#ifndef VKFLASH_TOOLS_BLOCK_MASK_OPTIONS_HPP
#define VKFLASH_TOOLS_BLOCK_MASK_OPTIONS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tensors/tensor_file.hpp"
#include "vkflash/host.hpp"

namespace vkf::tools {

// Adds --mask-block: the size of a block in rows and in keys. 0 = the flag was not given.
void addMaskBlockOption(CLI::App& command, uint32_t& block);

// Throws ProgramError if the share of open blocks is not within [0, 1], or if there are no blocks.
void checkDensity(double density, uint32_t maskBlock);

// Packs a mask from a file into words and sets the problem's strides. The file is bool or uint8, and a value that is
// not 0 means an open block.
// Its shape is [rowBlocks, keyBlocks], optionally with heads in front, optionally with sequences in front of the heads.
// One head serves all heads; one sequence serves all sequences.
// Throws ProgramError. Its message starts with `name`.
std::vector<uint32_t> packBlockMask(const Tensor& file, const std::string& name, VkfProblem& problem);

} // namespace vkf::tools

#endif
