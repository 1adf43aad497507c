// SPDX-License-Identifier: MIT
#include "shapes/bench_shapes.hpp"

#include <algorithm>

#include "cli/error.hpp"
#include "cli/program/help.hpp"
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

void checkNumbers(const DecodeShapes& shapes) {
    if (shapes.kvHeads == 0 || shapes.heads == 0 || shapes.heads % shapes.kvHeads != 0)
        failInput("--heads {}: is not a multiple of --kv-heads {}", shapes.heads, shapes.kvHeads);
    for (const uint32_t keys : shapes.keys)
        if (keys == 0)
            failInput("--keys 0: a cache without keys has no rate");
    for (const uint32_t rows : shapes.rows)
        if (rows == 0)
            failInput("--rows 0: a problem without rows takes no time");
    if (shapes.valuesInKeys && shapes.valueDim > shapes.dim)
        failInput("--shared-kv: --value-dim {} is over --dim {}", shapes.valueDim, shapes.dim);
    if (shapes.causal != "yes" && shapes.causal != "no")
        failInput("--causal {}: takes yes or no", shapes.causal);
}

VkfProblem problemOf(const DecodeShapes& shapes, VkfType type, uint32_t batch, uint32_t keys, uint32_t rows) {
    auto problem = make<VkfProblem>();
    problem.batch = batch;
    problem.queryHeads = shapes.heads;
    problem.kvHeads = shapes.kvHeads;
    problem.queryRows = rows;
    problem.keys = keys;
    problem.headDim = shapes.dim;
    problem.valueDim = shapes.valueDim;
    problem.q = problem.k = problem.v = problem.o = dense(type);
    applyCacheOptions(shapes.cache, problem);
    if (shapes.valuesInKeys) {
        const VkfTensorLayout k = vkf::layoutOf(problem, VKF_TENSOR_K);
        problem.v = {problem.k.type, 0, k.batchStride, k.headStride, k.rowStride};
    }
    enable(problem, VKF_USE_CAUSAL, shapes.causal == "yes");
    problem.kvSplits = shapes.splits;
    problem.splitKeys = shapes.splitKeys;
    return problem;
}

} // namespace

void addPrefillShapeOptions(CLI::App& command, PrefillShapes& shapes) {
    addList(command, "--dims", shapes.dims, "list of head dimensions");
    addList(command, "--rows", shapes.rows, "list of numbers of rows; there are as many keys");
    addList(command, "--types", shapes.types, "list of f32, f16, bf16");
    addList(command, "--paths", shapes.paths, "list of paths");
    addValue(command, "--causal", shapes.causal, "no, yes or both");
    addValue(command, "--batch-one", shapes.batchOne,
             "one sequence only: no = --tokens / rows sequences, yes = one sequence, both = measure both");
    addValue(command, "--tokens", shapes.tokens, "rows of all sequences together");
    addValue(command, "--width", shapes.width, "heads x head dimension");
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

void addDecodeShapeOptions(CLI::App& command, DecodeShapes& shapes) {
    addList(command, "--keys", shapes.keys, "list of numbers of keys of a sequence");
    addList(command, "--batch", shapes.batches, "list of numbers of sequences");
    addList(command, "--rows", shapes.rows, "list of numbers of query rows");
    addList(command, "--types", shapes.types, "list of f32, f16, bf16");
    addList(command, "--paths", shapes.paths, "list of paths");
    addValue(command, "--heads", shapes.heads, "number of query heads");
    addValue(command, "--kv-heads", shapes.kvHeads, "number of KV heads");
    addValue(command, "--dim", shapes.dim, "head dimension D");
    command.add_option("--value-dim", shapes.valueDim, "head dimension of v and o (default: D)");
    command.add_flag("--shared-kv", shapes.valuesInKeys, "v is the first columns of k, as in latent attention");
    command.add_option("--splits", shapes.splits, "number of key splits (default: the library's choice)");
    addSplitKeysOption(command, shapes.splitKeys);
    command.add_option(
        "--tokens", shapes.tokens,
        "limit for the keys of all sequences together (default: 1048576, or the largest value of --keys)");
    addValue(command, "--causal", shapes.causal, "yes or no");
    addOneTypeCacheOptions(command, shapes.cache);
    addChosenCountOption(command, shapes.cache);
}

std::vector<VkfProblem> decodeProblems(const DecodeShapes& shapes) {
    checkNumbers(shapes);
    const uint64_t longest = shapes.keys.empty() ? 0 : *std::max_element(shapes.keys.begin(), shapes.keys.end());
    const uint64_t tokens = shapes.tokens != 0 ? shapes.tokens : std::max<uint64_t>(uint64_t{1} << 20, longest);
    std::vector<VkfProblem> problems;
    for (const std::string& type : shapes.types)
        for (const uint32_t batch : shapes.batches)
            for (const uint32_t keys : shapes.keys)
                for (const uint32_t rows : shapes.rows)
                    for (const std::string& path : shapes.paths) {
                        if (uint64_t{batch} * keys > tokens)
                            continue;
                        problems.push_back(problemOf(shapes, parseType("--types", type), batch, keys, rows));
                        problems.back().path = parsePath("--paths", path);
                    }
    if (problems.empty())
        failInput("--keys, --batch, --rows, --types, --paths: no shape within --tokens {}", tokens);
    return problems;
}

void addGridOptions(CLI::App& command, ProblemGrid& grid) {
    const HelpGroup group(command, shapeGroup);
    addList(command, "--rows", grid.rows, "list of numbers of query rows");
    addList(command, "--dims", grid.dims, "list of head dimensions");
    addList(command, "--types", grid.types, "list of f32, f16, bf16");
    addList(command, "--paths", grid.paths, "list of paths");
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
