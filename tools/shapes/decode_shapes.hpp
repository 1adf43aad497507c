// SPDX-License-Identifier: MIT
//
// The shapes of decoding: few query rows against long caches, with several query heads for each KV head.
#ifndef VKFLASH_TOOLS_DECODE_SHAPES_HPP
#define VKFLASH_TOOLS_DECODE_SHAPES_HPP

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/cache_options.hpp"
#include "vkflash/host.hpp"

namespace vkf::tools {

struct DecodeShapes {
    uint32_t heads = 32;
    uint32_t kvHeads = 8;
    uint32_t dim = 128;
    uint32_t valueDim = 0;     // 0 = dim
    bool valuesInKeys = false; // v is the first columns of k
    uint32_t splits = 0;       // key splits; 0 = the library's choice
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

} // namespace vkf::tools

#endif
