// SPDX-License-Identifier: MIT
#include "cli/cache_options.hpp"

#include <fmt/format.h>

#include "cli/options.hpp"
#include "cli/program/help.hpp"

namespace vkf::tools {

void addOneTypeCacheOptions(CLI::App& command, CacheOptions& options) {
    const HelpGroup group(command, cacheGroup);
    command
        .add_option("--kv-type", options.kvType,
                    fmt::format("type of k and v: {} (default: the type of q)", cacheTypeNames()))
        ->type_name("NAME");
    command.add_option("--page-size", options.pageSize,
                       "store k and v in shuffled pages of this many keys, a power of two (default: no pages)");
    addScratchOption(command, options.scratch);
}

void addCacheOptions(CLI::App& command, CacheOptions& options) {
    addOneTypeCacheOptions(command, options);
    const HelpGroup group(command, cacheGroup);
    command.add_option("--k-type", options.kType, "type of k only")->type_name("NAME");
    command.add_option("--v-type", options.vType, "type of v only")->type_name("NAME");
}

void applyCacheOptions(const CacheOptions& options, VkfProblem& problem) {
    if (!options.kvType.empty())
        problem.k.type = problem.v.type = parseCacheType("--kv-type", options.kvType);
    if (!options.kType.empty())
        problem.k.type = parseCacheType("--k-type", options.kType);
    if (!options.vType.empty())
        problem.v.type = parseCacheType("--v-type", options.vType);
    problem.maxScratchBytes = mostScratchBytes(options.scratch);
    if (options.pageSize == 0)
        return;
    const uint32_t pages = problem.keys / options.pageSize + (problem.keys % options.pageSize != 0 ? 1 : 0);
    problem.paging = {options.pageSize, pages, problem.batch * pages, 0};
    enable(problem, VKF_USE_BLOCK_TABLE);
}

} // namespace vkf::tools
