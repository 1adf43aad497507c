// SPDX-License-Identifier: MIT
#include "cli/cache_options.hpp"

#include "cli/options.hpp"

namespace vkf::tools {

void addOneTypeCacheOptions(CLI::App& command, CacheOptions& options) {
    command.add_option("--kv-type", options.kvType,
                       "of k and v: f32, f16, bf16, q8_0, q4_0, q4_1, q5_0 or q5_1 (default: that of q)");
    command.add_option("--page-size", options.pageSize,
                       "k and v in shuffled pages of that many keys, a power of two (default: not in pages)");
}

void addCacheOptions(CLI::App& command, CacheOptions& options) {
    addOneTypeCacheOptions(command, options);
    command.add_option("--k-type", options.kType, "of k alone");
    command.add_option("--v-type", options.vType, "of v alone");
}

void applyCacheOptions(const CacheOptions& options, VkfProblem& problem) {
    if (!options.kvType.empty())
        problem.k.type = problem.v.type = parseCacheType("--kv-type", options.kvType);
    if (!options.kType.empty())
        problem.k.type = parseCacheType("--k-type", options.kType);
    if (!options.vType.empty())
        problem.v.type = parseCacheType("--v-type", options.vType);
    if (options.pageSize == 0)
        return;
    const uint32_t pages = problem.keys / options.pageSize + (problem.keys % options.pageSize != 0 ? 1 : 0);
    problem.paging = {options.pageSize, pages, problem.batch * pages, 0};
    enable(problem, VKF_ARRAY_BLOCK_TABLE);
}

} // namespace vkf::tools
