// SPDX-License-Identifier: MIT
//
// The shapes on which attention kernels are usually compared: as many sequences as make a fixed number of
// tokens, as many heads as make a fixed width.
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

// One problem for each shape and path, paths of a shape beside each other. ProgramError names the flag that makes no
// sense. Not checked by vkfCheckProblem: a path that cannot do one shape may do the next.
std::vector<VkfProblem> prefillProblems(const PrefillShapes& shapes);

} // namespace vkf::tools

#endif
