// SPDX-License-Identifier: MIT
//
// One checked call of the reference, with its defaults filled in.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <vkflash/problem.hpp>
#include <vkflash/reference.h>

#include "problem/functions.hpp"
#include "problem/masks/chosen_keys.hpp"
#include "problem/problem.hpp"
#include "reference/visible.hpp"

namespace vkf::reference {

// Returns the element of row 0 and key 0 of a sequence and query head.
inline uint64_t firstElement(const VkfBroadcastArray& array, uint32_t batch, uint32_t queryHead) {
    const uint32_t sequence = array.sequences != 0 ? batch % array.sequences : batch;
    const uint32_t head = array.heads != 0 ? queryHead % array.heads : queryHead;
    return sequence * array.batchStride + head * array.headStride;
}

// Returns the part of a boolean mask that belongs to one query head. `bytes` is the whole mask. `keys` is the length of
// the sequence.
inline BooleanMask booleansOf(const VkfBroadcastArray& mask, const void* bytes, uint32_t batch, uint32_t queryHead,
                              int64_t keys) {
    return {static_cast<const unsigned char*>(bytes), mask.type == VKF_TYPE_BOOL8 ? 8U : 1U,
            firstElement(mask, batch, queryHead), mask.rowStride, mask.lastKeys != 0 ? keys - mask.lastKeys : 0};
}

struct Call {
    VkfProblem problem; // scale is no longer 0
    std::array<VkfTensorLayout, 4> layouts;
    VkfBlockMaskLayout blockMaskLayout;
    VkfReferenceInputs inputs;
    VkfReferenceOptions options; // tiles, threads and rowStride are no longer 0
    uint32_t rows;               // query rows that the options select, of each head
    const uint32_t* rowList;     // if not null, the options select entries of this list of rows
    // Lists of chosen keys, each in ascending order, as [sequences, KV heads, rows, count] without dimensions that
    // repeat. Null if the problem has none.
    std::shared_ptr<const std::vector<int32_t>> sortedLists;

    const VkfTensorLayout& layout(VkfTensorRole role) const { return layouts[static_cast<size_t>(role)]; }
    bool empty() const { return layout(VKF_TENSOR_O).elements == 0; }
    // Query row that is number `selected` among the selected rows.
    uint32_t row(uint32_t selected) const {
        return rowList != nullptr ? rowList[listIndex(selected)] : listIndex(selected);
    }
    // The index of that row in rowList. Without a list: the row itself.
    uint32_t listIndex(uint32_t selected) const { return options.rowBegin + selected * options.rowStride; }
    // Rows of each head whose probabilities the problem has.
    uint32_t probabilityRows() const {
        return has(problem, VKF_USE_PROBABILITY_ROWS) ? problem.probabilityRowCount : problem.queryRows;
    }
    // Number of heads that o and lse have: batch * queryHeads, or queryHeads for packed sequences.
    uint64_t heads() const { return uint64_t{tensorSequences(problem)} * problem.queryHeads; }
    // Which of these heads belongs to a sequence and a query head.
    uint64_t headNumber(uint32_t batch, uint32_t queryHead) const {
        return uint64_t{has(problem, VKF_USE_CU_SEQLENS) ? 0 : batch} * problem.queryHeads + queryHead;
    }
    // The rows or keys [begin, end) of a sequence, counted among the rows or keys of all packed sequences. Without
    // packing these are all rows or keys.
    struct Span {
        uint32_t begin;
        uint32_t end;

        uint32_t size() const { return end - begin; }
    };
    Span rowsOf(uint32_t batch) const { return spanOf(inputs.cuSeqlensQ, batch, problem.queryRows); }
    Span keysOf(uint32_t batch) const {
        return spanOf(has(problem, VKF_USE_BLOCK_TABLE) ? nullptr : inputs.cuSeqlensK, batch, problem.keys);
    }
    // The block mask of one query head; without words if the problem has none.
    BlockMask blockMask(uint32_t batch, uint32_t queryHead) const {
        if (!has(problem, VKF_USE_BLOCK_MASK)) {
            return {};
        }
        return {inputs.blockMask + batch * problem.blockMask.batchStride + queryHead * problem.blockMask.headStride,
                problem.blockMask.blockSize, blockMaskLayout.rowWords};
    }
    // The boolean mask of one query head; without bytes if the problem has none. `keys` is the length of the sequence.
    BooleanMask booleanMask(uint32_t batch, uint32_t queryHead, int64_t keys) const {
        return has(problem, VKF_USE_MASK) ? booleansOf(problem.mask, inputs.mask, batch, queryHead, keys)
                                          : BooleanMask{};
    }
    // The lists of chosen keys of one KV head; without entries if the problem has none.
    ChosenKeys chosenKeys(uint32_t batch, uint32_t kvHead) const {
        if (sortedLists == nullptr) {
            return {};
        }
        const ListCounts counts = listCounts(problem);
        const uint64_t head =
            uint64_t{counts.sequences > 1 ? batch : 0} * counts.heads + (counts.heads > 1 ? kvHead : 0);
        const uint64_t rowLists = counts.rows > 1 ? 1 : 0;
        return {sortedLists->data(), problem.chosenKeys.count, head * counts.rows + rowsOf(batch).begin * rowLists,
                rowLists};
    }
    // The documents of one sequence's keys; without ids if the problem has none. `keys` is the sequence's own length.
    Documents documents(uint32_t batch, int64_t keys) const {
        if (!has(problem, VKF_USE_DOCUMENT_IDS)) {
            return {};
        }
        const bool packed = has(problem, VKF_USE_CU_SEQLENS) && !has(problem, VKF_USE_BLOCK_TABLE);
        const uint64_t first = packed ? keysOf(batch).begin : uint64_t{batch} * problem.keys;
        return {inputs.documentIds + first, keys - int64_t{rowsOf(batch).size()}};
    }
    // Where the rows of a query head stand, for functions of the caller's own. `mask` is that of the sequence.
    VkfPosition positionOf(uint32_t batch, uint32_t queryHead, const Mask& mask) const {
        const uint32_t group = problem.queryHeads / problem.kvHeads;
        return {static_cast<int32_t>(batch),
                static_cast<int32_t>(queryHead),
                static_cast<int32_t>(queryHead / group),
                0,
                0,
                static_cast<int32_t>(mask.rows),
                static_cast<int32_t>(mask.keys)};
    }
    // The mask of the caller's own of one query head; without functions if the problem has none.
    OwnMask ownMask(uint32_t batch, uint32_t queryHead, const Mask& mask) const {
        return !hasFunction(problem, VKF_FUNCTION_KEEP)
                   ? OwnMask{}
                   : OwnMask{inputs.functions, positionOf(batch, queryHead, mask), mask.offset};
    }
    // The pages of one sequence's keys; without entries if no key before `keys` is absent.
    Pages pages(uint32_t batch, int64_t keys) const {
        if (!has(problem, VKF_USE_BLOCK_TABLE)) {
            return {};
        }
        const VkfPaging& paging = problem.paging;
        const Pages all{inputs.blockTable + batch * uint64_t{paging.maxPages}, paging.pageSize, paging.pages};
        for (int64_t key = 0; key < keys; key += all.pageSize) {
            if (!all.keeps(key)) {
                return all;
            }
        }
        return {};
    }
    // Where row number `key` of k and v lies: the page or the sequence, and the row there.
    struct KeyIndex {
        uint64_t batch;
        uint64_t row;
    };
    KeyIndex keyIndex(uint32_t batch, uint64_t key) const {
        const VkfPaging& paging = problem.paging;
        if (!has(problem, VKF_USE_BLOCK_TABLE)) {
            return {batch, keysOf(batch).begin + key};
        }
        const int32_t page = inputs.blockTable[batch * uint64_t{paging.maxPages} + key / paging.pageSize];
        return {static_cast<uint64_t>(page), key % paging.pageSize};
    }
    // Number of keys of a sequence: keyLengths, at most its keys. May be negative, as the caller gave it.
    int64_t keyLength(uint32_t batch) const {
        const int64_t keys = keysOf(batch).size();
        return has(problem, VKF_USE_KEY_LENGTHS) ? std::min<int64_t>(inputs.keyLengths[batch], keys) : keys;
    }
    // The position of row 0 less that of key 0, as the caller gave it; 0 without rowOffsets.
    int64_t rowOffset(uint32_t batch) const { return has(problem, VKF_USE_ROW_OFFSETS) ? inputs.rowOffsets[batch] : 0; }

private:
    Span spanOf(const int32_t* starts, uint32_t batch, uint32_t all) const {
        if (!has(problem, VKF_USE_CU_SEQLENS) || starts == nullptr) {
            return {0, all};
        }
        return {static_cast<uint32_t>(starts[batch]), static_cast<uint32_t>(starts[batch + 1])};
    }
};

// Returns how many of the query rows rowBegin, rowBegin + rowStride, ... exist.
inline uint32_t selectedRows(uint32_t queryRows, uint32_t rowBegin, uint32_t rowStride) {
    return rowBegin < queryRows ? (queryRows - rowBegin - 1) / rowStride + 1 : 0;
}

// Returns the offset of a row's first element, in elements.
inline uint64_t elementOf(const VkfTensorLayout& layout, uint64_t batch, uint64_t head, uint64_t row) {
    return batch * layout.batchStride + head * layout.headStride + row * layout.rowStride;
}

// Checks a call, and fills *call on success. `options` may be null.
VkfResult checkCall(const VkfProblem* problem, const VkfReferenceInputs* inputs, const VkfReferenceOptions* options,
                    Call* call, VkfMessage* message);

} // namespace vkf::reference
