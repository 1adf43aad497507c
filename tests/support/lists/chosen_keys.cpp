// SPDX-License-Identifier: MIT
#include "support/lists/chosen_keys.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <random>

namespace vkf::test {
namespace {

// The first entries of all lists that may differ. Follows the contract directly.
std::vector<uint64_t> firstEntries(const VkfProblem& p) {
    const VkfChosenKeys& lists = p.chosenKeys;
    std::vector<uint64_t> first;
    for (uint64_t b = 0; b < (lists.batchStride != 0 ? p.batch : 1); b++) {
        for (uint64_t h = 0; h < (lists.headStride != 0 ? p.kvHeads : 1); h++) {
            for (uint64_t i = 0; i < (lists.rowStride != 0 ? p.queryRows : 1); i++) {
                first.push_back(b * lists.batchStride + h * lists.headStride + i * lists.rowStride);
            }
        }
    }
    return first;
}

} // namespace

void setChosenKeys(VkfProblem& p, uint32_t count, ListShape shape) {
    enable(p, VKF_USE_CHOSEN_KEYS);
    VkfChosenKeys& lists = p.chosenKeys;
    lists.count = count;
    lists.rowStride = shape.rows ? count : 0;
    const uint64_t ofHead = shape.rows ? uint64_t{count} * p.queryRows : count;
    lists.headStride = shape.heads ? ofHead : 0;
    lists.batchStride = shape.sequences ? (shape.heads ? p.kvHeads : 1) * ofHead : 0;
}

std::vector<int32_t> randomLists(const VkfProblem& problem, uint32_t seed) {
    const uint64_t entries = vkfGetArrayBytes(&problem, VKF_ARRAY_CHOSEN_KEYS) / sizeof(int32_t);
    if (entries == 0) {
        return {};
    }
    std::mt19937_64 random(seed);
    const auto keys = static_cast<int32_t>(problem.longestKeys != 0 ? problem.longestKeys : problem.keys);
    std::vector<int32_t> lists(entries);
    std::generate(lists.begin(), lists.end(), [&] { return static_cast<int32_t>(random() % problem.keys); });
    std::vector<int32_t> all(problem.keys);
    std::iota(all.begin(), all.end(), 0);
    const std::array<int32_t, 4> none = {-1, static_cast<int32_t>(problem.keys), std::numeric_limits<int32_t>::max(),
                                         std::numeric_limits<int32_t>::min()};
    size_t number = 0;
    for (const uint64_t first : firstEntries(problem)) {
        const bool empty = number++ % 9 == 5;
        std::shuffle(all.begin(), all.begin() + keys, random);
        for (uint32_t i = 0; i < problem.chosenKeys.count; i++) {
            const bool isKey = !empty && i < static_cast<uint32_t>(keys) && random() % 7 != 0;
            lists[first + i] = isKey ? all[i] : none[random() % 3 == 0 ? random() % none.size() : 0];
        }
    }
    return lists;
}

bool isChosen(const VkfProblem& problem, const std::vector<int32_t>& lists, uint64_t batch, uint64_t kvHead,
              uint64_t row, int64_t key) {
    if (lists.empty()) {
        return true;
    }
    const VkfChosenKeys& p = problem.chosenKeys;
    const auto first =
        lists.begin() + static_cast<std::ptrdiff_t>(batch * p.batchStride + kvHead * p.headStride + row * p.rowStride);
    return std::find(first, first + p.count, key) != first + p.count;
}

} // namespace vkf::test
