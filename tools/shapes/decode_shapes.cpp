// SPDX-License-Identifier: MIT
#include "shapes/decode_shapes.hpp"

#include <algorithm>

#include "cli/error.hpp"
#include "cli/options.hpp"
#include "vkflash/vkflash.hpp"

namespace vkf::tools {

namespace {

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
    return problem;
}

} // namespace

void addDecodeShapeOptions(CLI::App& command, DecodeShapes& shapes) {
    command.add_option("--keys", shapes.keys, "list of numbers of keys of a sequence")
        ->delimiter(',')
        ->capture_default_str();
    command.add_option("--batch", shapes.batches, "list of numbers of sequences")
        ->delimiter(',')
        ->capture_default_str();
    command.add_option("--rows", shapes.rows, "list of numbers of query rows")->delimiter(',')->capture_default_str();
    command.add_option("--types", shapes.types, "list of f32, f16, bf16")->delimiter(',')->capture_default_str();
    command.add_option("--paths", shapes.paths, "list of paths")->delimiter(',')->capture_default_str();
    command.add_option("--heads", shapes.heads, "number of query heads")->capture_default_str();
    command.add_option("--kv-heads", shapes.kvHeads, "number of KV heads")->capture_default_str();
    command.add_option("--dim", shapes.dim, "head dimension D")->capture_default_str();
    command.add_option("--value-dim", shapes.valueDim, "head dimension of v and o (default: D)");
    command.add_flag("--shared-kv", shapes.valuesInKeys, "v is the first columns of k, as in latent attention");
    command.add_option("--splits", shapes.splits, "number of key splits (default: the library's choice)");
    command.add_option(
        "--tokens", shapes.tokens,
        "limit for the keys of all sequences together (default: 1048576, or the largest value of --keys)");
    command.add_option("--causal", shapes.causal, "yes or no")->capture_default_str();
    addOneTypeCacheOptions(command, shapes.cache);
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

} // namespace vkf::tools
