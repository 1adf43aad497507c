// SPDX-License-Identifier: MIT
//
// The shapes that benches and `tune` measure. Each kind has its flags and makes one problem for each shape and path;
// the paths of a shape follow each other. It throws ProgramError with the flag that makes no sense.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/options.hpp"

namespace vkf::tools {

// The shapes on which attention kernels are usually compared. The number of sequences gives a fixed number of tokens,
// and the number of heads gives a fixed width.
struct PrefillShapes {
    uint32_t tokens = 16384; // sequences x rows
    uint32_t width = 2048;   // heads x head dimension
    std::vector<uint32_t> dims = {64, 128, 256};
    std::vector<uint32_t> rows = {512, 1024, 2048, 4096, 8192, 16384};
    std::vector<std::string> types = {"f16"};
    std::vector<std::string> paths = {"auto"};
    std::string causal = "both";
    std::string batchOne = "both";
    CacheOptions cache{}; // one type for k and v
};

void addPrefillShapeOptions(CLI::App& command, PrefillShapes& shapes);

// Makes one problem for each shape and path. The paths of a shape follow each other. Throws ProgramError with the flag
// that makes no sense. Does not call vkfCheckProblem: a path that refuses one shape may accept the next.
std::vector<VkfProblem> prefillProblems(const PrefillShapes& shapes);

// The shapes of decoding: few query rows against long caches, with several query heads for each KV head.
struct DecodeShapes {
    uint32_t heads = 32;
    uint32_t kvHeads = 8;
    uint32_t dim = 128;
    uint32_t valueDim = 0;     // 0 = dim
    bool valuesInKeys = false; // v is the first columns of k
    uint32_t splits = 0;       // key splits; 0 = the library's choice
    uint32_t splitKeys = 0;    // keys of a key split; 0 = not fixed
    // Limit for the keys of all sequences together. 0 = the larger of 2^20 and the longest sequence.
    uint64_t tokens = 0;
    std::vector<uint32_t> keys = {1024, 4096, 16384, 65536, 131072};
    std::vector<uint32_t> batches = {1, 8, 64};
    std::vector<uint32_t> rows = {1, 4, 16};
    std::vector<std::string> types = {"f16", "bf16", "f32"};
    std::vector<std::string> paths = {"auto"};
    std::string causal = "no";
    CacheOptions cache{}; // one type for k and v
};

void addDecodeShapeOptions(CLI::App& command, DecodeShapes& shapes);

// Makes one problem for each shape and path. Leaves out shapes with more keys than `tokens`. Throws ProgramError with
// the flag that makes no sense. Does not call vkfCheckProblem: a path that refuses one shape may accept the next.
std::vector<VkfProblem> decodeProblems(const DecodeShapes& shapes);

// A grid of problems from lists of shapes, types and paths.
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
