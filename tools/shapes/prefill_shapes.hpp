// SPDX-License-Identifier: MIT
//
// The shapes on which attention kernels are usually compared. The number of sequences gives a fixed number of tokens,
// and the number of heads gives a fixed width.
#ifndef VKFLASH_TOOLS_PREFILL_SHAPES_HPP
#define VKFLASH_TOOLS_PREFILL_SHAPES_HPP

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/cache_options.hpp"
#include "vkflash/host.hpp"

namespace vkf::tools {

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

} // namespace vkf::tools

#endif
