// SPDX-License-Identifier: MIT
#include "shapes/problem_grid.hpp"

namespace vkf::tools {

void addGridOptions(CLI::App& command, ProblemGrid& grid) {
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
                    problems.push_back(makeProblem(shape, math));
                }
    return problems;
}

} // namespace vkf::tools
