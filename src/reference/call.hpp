// SPDX-License-Identifier: MIT
//
// One checked call of the reference, with its defaults filled in.
#pragma once

#include <array>
#include <cstdint>

#include <vkflash/reference.h>

#include "visible.hpp"

namespace vkf::reference {

struct Call {
    VkfProblem problem; // scale is no longer 0
    std::array<VkfTensorLayout, 4> layouts;
    VkfBlockMaskLayout blockMaskLayout;
    VkfReferenceInputs inputs;
    VkfReferenceOptions options; // tiles, threads and rowStride are no longer 0
    uint32_t rows;               // query rows that the options select, of each head

    const VkfTensorLayout& layout(VkfTensorRole role) const { return layouts[static_cast<size_t>(role)]; }
    bool empty() const { return layout(VKF_TENSOR_O).elements == 0; }
    // Query row that stands at a place among the selected ones.
    uint32_t row(uint32_t place) const { return options.rowBegin + place * options.rowStride; }
    uint64_t heads() const { return uint64_t{problem.batch} * problem.queryHeads; }
    // Of one query head; no mask if the problem has none.
    BlockMask blockMask(uint32_t batch, uint32_t queryHead) const {
        if (problem.maskBlock == 0) {
            return {};
        }
        return {inputs.blockMask + batch * problem.blockMaskBatchStride + queryHead * problem.blockMaskHeadStride,
                problem.maskBlock, blockMaskLayout.rowWords};
    }
    // The same of the boolean mask.
    BooleanMask booleanMask(uint32_t batch, uint32_t queryHead) const {
        const VkfBias& mask = problem.mask;
        if (mask.enabled == 0) {
            return {};
        }
        return {static_cast<const unsigned char*>(inputs.mask), mask.type == VKF_TYPE_BOOL8 ? 8U : 1U,
                batch * mask.batchStride + queryHead * mask.headStride, mask.rowStride};
    }
    Documents documents(uint32_t batch, int64_t keys) const {
        if (problem.documents == 0) {
            return {};
        }
        return {inputs.documentIds + uint64_t{batch} * problem.keys, keys - int64_t{problem.queryRows}};
    }
    // Where row `key` of k or v lies: its page, or its sequence, and the row there.
    struct KeyPlace {
        uint64_t batch;
        uint64_t row;
    };
    KeyPlace keyPlace(uint32_t batch, uint64_t key) const {
        const VkfPaging& paging = problem.paging;
        if (paging.enabled == 0) {
            return {batch, key};
        }
        const int32_t page = inputs.blockTable[batch * uint64_t{paging.maxPages} + key / paging.pageSize];
        return {static_cast<uint64_t>(page), key % paging.pageSize};
    }
    int64_t keyLength(uint32_t batch) const {
        return problem.keyLengths != 0 ? inputs.keyLengths[batch] : int64_t{problem.keys};
    }
};

// How many of the query rows rowBegin, rowBegin + rowStride, ... there are.
inline uint32_t selectedRows(uint32_t queryRows, uint32_t rowBegin, uint32_t rowStride) {
    return rowBegin < queryRows ? (queryRows - rowBegin - 1) / rowStride + 1 : 0;
}

inline uint64_t elementOf(const VkfTensorLayout& layout, uint64_t batch, uint64_t head, uint64_t row) {
    return batch * layout.batchStride + head * layout.headStride + row * layout.rowStride;
}

// options may be null. Fills *call on success.
VkfResult checkCall(const VkfProblem* problem, const VkfReferenceInputs* inputs, const VkfReferenceOptions* options,
                    Call* call, VkfMessage* message);

} // namespace vkf::reference
