// SPDX-License-Identifier: MIT
//
// Lists of shapes, types and paths, and the problems that they make together.
#ifndef VKFLASH_TOOLS_PROBLEM_GRID_HPP
#define VKFLASH_TOOLS_PROBLEM_GRID_HPP

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/options.hpp"

namespace vkf::tools {

struct ProblemGrid {
    ShapeOptions shape{}; // what the lists leave
    MathOptions math{};
    std::vector<uint32_t> rows;
    std::vector<uint32_t> dims;
    std::vector<std::string> types;
    std::vector<std::string> paths;
};

void addGridOptions(CLI::App& command, ProblemGrid& grid);

// Paths of a shape beside each other. ProgramError if one makes no sense.
std::vector<VkfProblem> problemsOf(const ProblemGrid& grid);

} // namespace vkf::tools

#endif
