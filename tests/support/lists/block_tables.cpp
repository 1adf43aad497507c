// SPDX-License-Identifier: MIT
#include "support/lists/block_tables.hpp"

#include <algorithm>
#include <array>
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

} // namespace vkf::test
