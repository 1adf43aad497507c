// SPDX-License-Identifier: MIT
#include "tensors/cache.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tensors/generator.hpp"
#include "vkflash/problem.hpp"
#include "vkflash/reference.h"

namespace vkf::tools {

namespace {

void storeRow(VkfType type, const std::vector<float>& row, std::byte* to) {
    if (vkfBlockElements(type) > 1)
        return vkfQuantizeBlocks(type, row.data(), row.size() / vkfBlockElements(type), to);
    for (size_t i = 0; i < row.size(); ++i)
        vkfStoreElement(type, to, i, static_cast<double>(row[i]));
}

void shuffle(std::vector<int32_t>& numbers, Generator& generator) {
    for (size_t left = numbers.size(); left > 1; --left)
        std::swap(numbers[left - 1], numbers[generator.next() % left]);
}

} // namespace

std::vector<int32_t> shuffledPages(const VkfProblem& problem) {
    if (!has(problem, VKF_USE_BLOCK_TABLE))
        return {};
    std::vector<int32_t> table(size_t{problem.batch} * problem.paging.maxPages);
    std::iota(table.begin(), table.end(), 0);
    Generator generator(problem.paging.pages);
    shuffle(table, generator);
    return table;
}

std::vector<int32_t> scatteredKeys(const VkfProblem& problem) {
    const uint64_t entries = vkfGetArrayBytes(&problem, VKF_ARRAY_CHOSEN_KEYS) / sizeof(int32_t);
    std::vector<int32_t> lists;
    lists.reserve(entries);
    Generator generator(problem.chosenKeys.count);
    const uint64_t count = problem.chosenKeys.count;
    while (lists.size() < entries) {
        std::vector<int32_t> list(count, -1);
        for (uint64_t i = 0; i < std::min<uint64_t>(count, problem.keys); ++i) { // one key of each part
            const uint64_t begin = count < problem.keys ? i * problem.keys / count : i;
            const uint64_t end = count < problem.keys ? (i + 1) * problem.keys / count : i + 1;
            list[i] = static_cast<int32_t>(begin + generator.next() % (end - begin));
        }
        shuffle(list, generator);
        lists.insert(lists.end(), list.begin(), list.end());
    }
    return lists;
}

std::vector<std::byte> toCache(const VkfProblem& problem, VkfTensorRole role, const VkfTensorLayout& from,
                               const std::byte* elements, const std::vector<int32_t>& blockTable) {
    const VkfTensorLayout layout = vkf::layoutOf(problem, role);
    std::vector<std::byte> cache(vkfStoredBytes(layout.type, layout.elements), std::byte{0xff});
    std::vector<float> row(layout.dim);
    const VkfPaging& paging = problem.paging;
    for (uint64_t batch = 0; batch < problem.batch; ++batch)
        for (uint64_t head = 0; head < layout.heads; ++head)
            for (uint64_t key = 0; key < problem.keys; ++key) {
                uint64_t index = batch * from.batchStride + head * from.headStride + key * from.rowStride;
                for (float& x : row)
                    x = static_cast<float>(vkfLoadElement(from.type, elements, index++));
                const bool paged = has(problem, VKF_USE_BLOCK_TABLE);
                const uint64_t page =
                    paged ? static_cast<uint64_t>(blockTable[batch * paging.maxPages + key / paging.pageSize]) : batch;
                const uint64_t first = page * layout.batchStride + head * layout.headStride +
                                       (paged ? key % paging.pageSize : key) * layout.rowStride;
                storeRow(layout.type, row, cache.data() + vkfStoredBytes(layout.type, first));
            }
    return cache;
}

} // namespace vkf::tools
