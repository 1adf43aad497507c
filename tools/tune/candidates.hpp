// SPDX-License-Identifier: MIT
//
// The tiles that `vkflash tune` tries, as text of tuning data. The library ignores tiles that do not fit a device.
#ifndef VKFLASH_TOOLS_TUNE_CANDIDATES_HPP
#define VKFLASH_TOOLS_TUNE_CANDIDATES_HPP

#include <string>
#include <vector>

#include "vkflash/vkflash.h"

namespace vkf::tools {

// Tiles for a problem that the library by itself would run as `builtIn`. Each tile occurs without key splits and, if
// `builtIn` splits the keys, with its number of splits.
std::vector<std::string> candidateTiles(const VkfProblem& problem, const VkfPlanInfo& builtIn);

// The tile of a plan with other numbers of splits, if these can help. Empty on a path without splits.
std::vector<std::string> otherSplits(const VkfProblem& problem, const VkfPlanInfo& plan);

// A kernel of the backward pass as an entry names it, and its tile.
struct KernelTileText {
    const char* kernel;
    std::string tile;
};

// Tiles of path coopmat for the kernels that write these gradients: VKF_GRADIENT_Q, or k and v together. Each is what
// one or two entries say, because dk and dv may come from one kernel or from two.
std::vector<std::vector<KernelTileText>> gradientCandidates(const VkfProblem& problem, VkfGradients gradients);

} // namespace vkf::tools

#endif
