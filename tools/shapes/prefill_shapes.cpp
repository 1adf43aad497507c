// SPDX-License-Identifier: MIT
#include "shapes/prefill_shapes.hpp"

#include <algorithm>

#include "cli/error.hpp"
#include "cli/options.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

// Parses "no", "yes" or "both", the value of a flag.
std::vector<bool> choices(const char* flag, const std::string& text) {
    if (text == "no")
        return {false};
    if (text == "yes")
        return {true};
    if (text == "both")
        return {false, true};
    failInput("{} {}: takes no, yes or both", flag, text);
}

void checkNumbers(const PrefillShapes& shapes) {
    for (const uint32_t dim : shapes.dims)
        if (dim == 0 || shapes.width % dim != 0)
            failInput("--dims {}: does not divide the {} columns of --width", dim, shapes.width);
    for (const uint32_t rows : shapes.rows)
        if (rows == 0 || (rows < shapes.tokens && shapes.tokens % rows != 0))
            failInput("--rows {}: does not divide the {} rows of --tokens", rows, shapes.tokens);
}

// The numbers of sequences for a length: what --tokens gives, and one. Equal numbers occur once.
std::vector<uint32_t> batches(const PrefillShapes& shapes, uint32_t rows) {
    std::vector<uint32_t> list;
    for (const bool one : choices("--batch-one", shapes.batchOne)) {
        const uint32_t batch = one ? 1 : std::max(shapes.tokens / rows, 1U);
        if (std::find(list.begin(), list.end(), batch) == list.end())
            list.push_back(batch);
    }
    return list;
}

// Adds the problem for all paths, in the order of the flag.
void addProblems(const PrefillShapes& shapes, VkfProblem problem, std::vector<VkfProblem>& problems) {
    for (const std::string& path : shapes.paths) {
        problem.path = parsePath("--paths", path);
        problems.push_back(problem);
    }
}

} // namespace

void addPrefillShapeOptions(CLI::App& command, PrefillShapes& shapes) {
    command.add_option("--dims", shapes.dims, "list of head dimensions")->delimiter(',')->capture_default_str();
    command.add_option("--rows", shapes.rows, "list of numbers of rows; there are as many keys")
        ->delimiter(',')
        ->capture_default_str();
    command.add_option("--types", shapes.types, "list of f32, f16, bf16")->delimiter(',')->capture_default_str();
    command.add_option("--paths", shapes.paths, "list of paths")->delimiter(',')->capture_default_str();
    command.add_option("--causal", shapes.causal, "no, yes or both")->capture_default_str();
    command
        .add_option("--batch-one", shapes.batchOne,
                    "one sequence only: no = --tokens / rows sequences, yes = one sequence, both = measure both")
        ->capture_default_str();
    command.add_option("--tokens", shapes.tokens, "rows of all sequences together")->capture_default_str();
    command.add_option("--width", shapes.width, "heads x head dimension")->capture_default_str();
    addOneTypeCacheOptions(command, shapes.cache);
}

std::vector<VkfProblem> prefillProblems(const PrefillShapes& shapes) {
    checkNumbers(shapes);
    std::vector<VkfProblem> problems;
    for (const std::string& type : shapes.types)
        for (const uint32_t dim : shapes.dims)
            for (const uint32_t rows : shapes.rows)
                for (const uint32_t batch : batches(shapes, rows))
                    for (const bool causal : choices("--causal", shapes.causal)) {
                        auto problem = make<VkfProblem>();
                        problem.batch = batch;
                        problem.queryHeads = problem.kvHeads = shapes.width / dim;
                        problem.queryRows = problem.keys = rows;
                        problem.headDim = dim;
                        problem.q = problem.k = problem.v = problem.o = dense(parseType("--types", type));
                        applyCacheOptions(shapes.cache, problem);
                        enable(problem, VKF_USE_CAUSAL, causal);
                        addProblems(shapes, problem, problems);
                    }
    if (problems.empty())
        failInput("--dims, --rows, --types, --paths: one of them is empty");
    return problems;
}

} // namespace vkf::tools
