// SPDX-License-Identifier: MIT
//
// The problems whose plans show what a compiler makes of the library's kernels.
#pragma once

#include <string>
#include <vector>

#include "vkflash/problem.hpp"

namespace vkf::tools {

struct DriverProblem {
    std::string text; // "coopmat f16 D=128 prefill causal"
    VkfProblem problem;
    bool backward = false; // the kernels of the backward pass instead
    std::string kind;      // problems of one kind differ in sizes and head dimension alone
};

struct DriverProblemLists {
    std::vector<std::string> paths;
    std::vector<std::string> types;  // of q, k, v and o; block types are those of k and v, with an f16 q
    std::vector<uint32_t> dims;      // 576 stands for latent attention, where v is the first 512 columns of k
    std::vector<std::string> sizes;  // of driverSizeNames()
    std::vector<std::string> extras; // of driverExtraNames(). backward: of a causal problem; backward-terms: of one
                                     // with terms
};

// The words of the lists: "prefill, few, decode, ..." and "none, causal, window, ...".
std::string driverSizeNames();
std::string driverExtraNames();

// What ./dev drivers compiles without flags. It takes some minutes.
DriverProblemLists usualDriverProblems();

// A finer grid, for one kernel of each tile that VKF_PATH_AUTO chooses (./dev drivers --each-tile). The largest head
// dimensions come first.
DriverProblemLists problemsOfEachTile();

// Every combination of the lists, except for those that no device can do. Throws ProgramError for an unknown word.
std::vector<DriverProblem> driverProblems(const DriverProblemLists& lists);

} // namespace vkf::tools
