// SPDX-License-Identifier: MIT
//
// The tiles that `vkflash tune` tries, in the words of tuning data. What does not fit a device the library passes
// over.
#ifndef VKFLASH_TOOLS_TUNE_CANDIDATES_HPP
#define VKFLASH_TOOLS_TUNE_CANDIDATES_HPP

#include <string>
#include <vector>

#include "vkflash/vkflash.h"

namespace vkf::tools {

// For a problem that the library on its own would run as `builtIn`: each tile with whole keys and, where the
// library splits them, with its number of splits.
std::vector<std::string> candidateTiles(const VkfProblem& problem, const VkfPlanInfo& builtIn);

// The tile of a plan with other numbers of splits, where these can be of use: none on a path without splits.
std::vector<std::string> otherSplits(const VkfProblem& problem, const VkfPlanInfo& plan);

} // namespace vkf::tools

#endif
