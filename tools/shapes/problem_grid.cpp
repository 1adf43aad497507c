// SPDX-License-Identifier: MIT
#include "shapes/problem_grid.hpp"

#include "cli/error.hpp"
#include "cli/program/help.hpp"

namespace vkf::tools {

void addGridOptions(CLI::App& command, ProblemGrid& grid) {
    const HelpGroup group(command, shapeGroup);
    command.add_option("--rows", grid.rows, "list of numbers of query rows")->delimiter(',')->capture_default_str();
    command.add_option("--dims", grid.dims, "list of head dimensions")->delimiter(',')->capture_default_str();
    command.add_option("--types", grid.types, "list of f32, f16, bf16")->delimiter(',')->capture_default_str();
    command.add_option("--paths", grid.paths, "list of paths")->delimiter(',')->capture_default_str();
    addHeadOptions(command, grid.shape);
    addMaskOptions(command, grid.math);
}

std::vector<VkfProblem> problemsOf(const ProblemGrid& grid) {
    // Checked here, because the errors then name these flags.
    for (const std::string& type : grid.types)
        parseType("--types", type);
    for (const std::string& path : grid.paths)
        parsePath("--paths", path);
    std::vector<VkfProblem> problems;
    std::string refused; // the message about the first impossible combination
    bool possible = false;
    ShapeOptions shape = grid.shape;
    MathOptions math = grid.math;
    for (const std::string& type : grid.types)
        for (const uint32_t dim : grid.dims)
            for (const uint32_t rows : grid.rows)
                for (const std::string& path : grid.paths) {
                    shape.type = type;
                    shape.dim = dim;
                    shape.rows = rows;
                    math.path = path;
                    problems.push_back(describeProblem(shape, math));
                    VkfMessage message{};
                    if (vkfCheckProblem(&problems.back(), &message) == VKF_SUCCESS)
                        possible = true;
                    else if (refused.empty())
                        refused = message.text;
                }
    if (!possible && !refused.empty())
        failInput("{}", refused);
    return problems;
}

} // namespace vkf::tools
