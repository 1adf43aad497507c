// SPDX-License-Identifier: MIT
#include "cli/cache_options.hpp"

#include "cli/options.hpp"

namespace vkf::tools {

void addOneTypeCacheOptions(CLI::App& command, CacheOptions& options) {
    command.add_option(
        "--kv-type", options.kvType,
        "type of k and v: f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1 or iq4_nl (default: the type of q)");
    command.add_option("--page-size", options.pageSize,
                       "store k and v in shuffled pages of this many keys, a power of two (default: no pages)");
    addScratchOption(command, options.scratch);
}

void addCacheOptions(CLI::App& command, CacheOptions& options) {
    addOneTypeCacheOptions(command, options);
    command.add_option("--k-type", options.kType, "type of k only");
    command.add_option("--v-type", options.vType, "type of v only");
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
    enable(problem, VKF_ARRAY_BLOCK_TABLE);
}

} // namespace vkf::tools
