// SPDX-License-Identifier: MIT
#include "support/lists/block_tables.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>

namespace vkf::test {

std::vector<int32_t> randomBlockTable(const VkfProblem& problem, const std::function<int64_t(uint32_t batch)>& keysOf,
                                      bool absentPages, std::mt19937_64& random) {
    if (!has(problem, VKF_USE_BLOCK_TABLE)) {
        return {};
    }
    constexpr int32_t largest = std::numeric_limits<int32_t>::max();
    const std::array<int32_t, 5> noPages = {-1, largest, -largest - 1, static_cast<int32_t>(problem.paging.pages), -2};
    std::vector<int32_t> pages(problem.paging.pages);
    std::iota(pages.begin(), pages.end(), 0);
    std::shuffle(pages.begin(), pages.end(), random);
    std::mt19937_64 choices(random()); // one number, so that other inputs do not depend on the pages
    const bool someAbsent = absentPages && choices() % 2 == 0;
    std::vector<int32_t> table;
    for (uint32_t b = 0; b < problem.batch; b++) {
        for (int64_t i = 0; i < problem.paging.maxPages; i++) {
            const bool used = i * problem.paging.pageSize < keysOf(b);
            const bool absent = !used || (someAbsent && choices() % 6 == 0);
            table.push_back(absent ? noPages[choices() % noPages.size()] : pages.back());
            pages.resize(pages.size() - (used ? 1 : 0));
        }
    }
    return table;
}

Inputs withoutPages(const VkfProblem& problem, const Inputs& from, VkfProblem* plain) {
    *plain = problem;
    plain->paging = {};
    enable(*plain, VKF_USE_BLOCK_TABLE, false);
    Inputs to = from;
    to.blockTable.clear();
    for (const VkfTensorRole role : {VKF_TENSOR_K, VKF_TENSOR_V}) {
        const VkfTensorLayout paged = layoutOf(problem, role);
        const VkfTensorLayout dense = layoutOf(*plain, role);
        const std::vector<std::byte>& source = role == VKF_TENSOR_K ? from.k : from.v;
        std::vector<std::byte>& target = role == VKF_TENSOR_K ? to.k : to.v;
        target.resize(vkfStoredBytes(dense.type, dense.elements));
        for (uint64_t b = 0; b < problem.batch; b++) {
            for (uint64_t h = 0; h < dense.heads; h++) {
                for (uint64_t j = 0; j < problem.keys; j++) {
                    const auto [page, row] = from.placeOf(problem, b, j);
                    const uint64_t first = page * paged.batchStride + h * paged.headStride + row * paged.rowStride;
                    const uint64_t place = b * dense.batchStride + h * dense.headStride + j * dense.rowStride;
                    std::memcpy(&target[vkfStoredBytes(dense.type, place)], &source[vkfStoredBytes(dense.type, first)],
                                vkfStoredBytes(dense.type, dense.dim));
                }
            }
        }
    }
    return to;
}

} // namespace vkf::test
