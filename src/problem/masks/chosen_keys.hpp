// SPDX-License-Identifier: MIT
//
// The lists of chosen keys of a call (VkfChosenKeys): how many there are, and where each lies.
#pragma once

#include <cstdint>

#include <vkflash/problem.hpp>

#include "shared/constant_ids.h"

namespace vkf {

// Whether rows of a head have lists of their own, so that no two of them share a tile.
inline bool hasListsByRow(const VkfProblem& p) {
    return has(p, VKF_USE_CHOSEN_KEYS) && p.chosenKeys.rowStride != 0 && p.queryRows > 1;
}

// Numbers of lists that may differ. 1 = all sequences, KV heads or rows share a list.
struct ListCounts {
    uint32_t sequences;
    uint32_t heads;
    uint32_t rows;

    uint64_t all() const { return uint64_t{sequences} * heads * rows; }
};
inline ListCounts listCounts(const VkfProblem& p) {
    const VkfChosenKeys& lists = p.chosenKeys;
    return {lists.batchStride != 0 ? p.batch : 1, lists.headStride != 0 ? p.kvHeads : 1,
            lists.rowStride != 0 ? p.queryRows : 1};
}

// The index in the array of the first entry of a list. Rows count as those of q.
inline uint64_t firstEntry(const VkfChosenKeys& lists, uint64_t sequence, uint64_t kvHead, uint64_t row) {
    return sequence * lists.batchStride + kvHead * lists.headStride + row * lists.rowStride;
}

// Calls visit(list number, first entry) for each list that may differ. Numbers count rows fastest, then heads.
template <typename Visit> void forEachList(const VkfProblem& p, const Visit& visit) {
    const ListCounts counts = listCounts(p);
    uint64_t number = 0;
    for (uint32_t sequence = 0; sequence < counts.sequences; sequence++) {
        for (uint32_t head = 0; head < counts.heads; head++) {
            for (uint32_t row = 0; row < counts.rows; row++) {
                visit(number++, firstEntry(p.chosenKeys, sequence, head, row));
            }
        }
    }
}

// Entries from the first one to one past the last one that a call reads.
inline uint64_t listEntries(const VkfProblem& p) {
    const ListCounts counts = listCounts(p);
    return counts.all() == 0 || p.keys == 0
               ? 0
               : firstEntry(p.chosenKeys, counts.sequences - 1, counts.heads - 1, counts.rows - 1) + p.chosenKeys.count;
}

// Whether lists lie one after the other, as [sequences, KV heads, rows, count] in which some dimensions are missing.
inline bool hasDenseLists(const VkfProblem& p) {
    const VkfChosenKeys& lists = p.chosenKeys;
    const ListCounts counts = listCounts(p);
    const uint64_t ofHead = uint64_t{counts.rows} * lists.count;
    return (counts.rows == 1 || lists.rowStride == lists.count) && (counts.heads == 1 || lists.headStride == ofHead) &&
           (counts.sequences == 1 || lists.batchStride == ofHead * counts.heads) && !has(p, VKF_USE_CU_SEQLENS);
}

// The dimensions that lists have: VKF_LISTS_*. Rows are among them only if they do not share tiles.
inline uint32_t listDimensions(const VkfProblem& p) {
    const ListCounts counts = listCounts(p);
    return (hasListsByRow(p) ? VKF_LISTS_BY_ROW : 0U) | (counts.heads > 1 ? VKF_LISTS_BY_HEAD : 0U) |
           (counts.sequences > 1 ? VKF_LISTS_BY_SEQUENCE : 0U);
}

} // namespace vkf
