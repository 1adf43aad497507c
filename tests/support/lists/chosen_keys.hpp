// SPDX-License-Identifier: MIT
//
// Lists of chosen keys of a problem under test.
#pragma once

#include <cstdint>
#include <vector>

#include <vkflash/problem.hpp>

namespace vkf::test {

// Gives the problem lists of `count` entries, as dense [batch, kvHeads, queryRows, count] without the dimensions that
// share lists. With packed sequences rows count as in q.
struct ListShape {
    bool sequences, heads, rows;
};
void setChosenKeys(VkfProblem& problem, uint32_t count, ListShape shape);

// Random lists. Some entries are no keys, wherever they stand, and every ninth list has none. Gaps between lists hold
// numbers of keys. Empty if the problem has no lists.
std::vector<int32_t> randomLists(const VkfProblem& problem, uint32_t seed);

// True if the list of a row has the key, or if the problem has no lists. Rows count as in q.
bool isChosen(const VkfProblem& problem, const std::vector<int32_t>& lists, uint64_t batch, uint64_t kvHead,
              uint64_t row, int64_t key);

} // namespace vkf::test
