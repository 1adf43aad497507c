// SPDX-License-Identifier: MIT
#include "cli/cache.hpp"

#include <numeric>
#include <utility>

#include "cli/options.hpp"
#include "tensors/random_tensors.hpp"
#include "vkflash/reference.h"

namespace vkf::tools {

namespace {

void storeRow(VkfType type, const std::vector<float>& row, std::byte* to) {
    if (vkfBlockElements(type) > 1)
        return vkfQuantizeBlocks(type, row.data(), row.size() / vkfBlockElements(type), to);
    for (size_t i = 0; i < row.size(); ++i)
        vkfStoreElement(type, to, i, static_cast<double>(row[i]));
}

} // namespace

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
    problem.paging = {1, options.pageSize, pages, problem.batch * pages};
}

std::vector<int32_t> shuffledPages(const VkfProblem& problem) {
    if (problem.paging.enabled == 0)
        return {};
    std::vector<int32_t> table(size_t{problem.batch} * problem.paging.maxPages);
    std::iota(table.begin(), table.end(), 0);
    Generator generator(problem.paging.pages);
    for (size_t left = table.size(); left > 1; --left)
        std::swap(table[left - 1], table[generator.next() % left]);
    return table;
}

std::vector<std::byte> toCache(const VkfProblem& problem, VkfTensorRole role, VkfType type, const std::byte* dense,
                               const std::vector<int32_t>& blockTable) {
    const VkfTensorLayout layout = vkfTensorLayout(&problem, role);
    std::vector<std::byte> cache(vkfStoredBytes(layout.type, layout.elements), std::byte{0xff});
    std::vector<float> row(layout.dim);
    const VkfPaging& paging = problem.paging;
    uint64_t from = 0;
    for (uint64_t batch = 0; batch < problem.batch; ++batch)
        for (uint64_t head = 0; head < layout.heads; ++head)
            for (uint64_t key = 0; key < problem.keys; ++key) {
                for (float& x : row)
                    x = static_cast<float>(vkfLoadElement(type, dense, from++));
                const bool paged = paging.enabled != 0;
                const uint64_t page =
                    paged ? static_cast<uint64_t>(blockTable[batch * paging.maxPages + key / paging.pageSize]) : batch;
                const uint64_t first = page * layout.batchStride + head * layout.headStride +
                                       (paged ? key % paging.pageSize : key) * layout.rowStride;
                storeRow(layout.type, row, cache.data() + vkfStoredBytes(layout.type, first));
            }
    return cache;
}

} // namespace vkf::tools
