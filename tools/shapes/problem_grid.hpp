// SPDX-License-Identifier: MIT
//
// A grid of problems from lists of shapes, types and paths.
#ifndef VKFLASH_TOOLS_PROBLEM_GRID_HPP
#define VKFLASH_TOOLS_PROBLEM_GRID_HPP

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/options.hpp"

namespace vkf::tools {

struct ProblemGrid {
    ShapeOptions shape{}; // everything that has no list
    MathOptions math{};
    std::vector<uint32_t> rows;
    std::vector<uint32_t> dims;
    std::vector<std::string> types;
    std::vector<std::string> paths;
};

void addGridOptions(CLI::App& command, ProblemGrid& grid);

// The paths of a shape follow each other. Some combinations may be problems that the library refuses. Throws
// ProgramError if a value makes no sense, or if every combination is refused.
std::vector<VkfProblem> problemsOf(const ProblemGrid& grid);

} // namespace vkf::tools

#endif
