// SPDX-License-Identifier: MIT
//
// One checked backward call of the reference, with its defaults filled in.
#pragma once

#include <vector>

#include "reference/call.hpp"
#include "reference/element.hpp"

namespace vkf::reference {

struct BackwardCall {
    Call forward; // selects all rows
    VkfBackwardProblem problem;
    std::array<VkfTensorLayout, 4> layouts;
    VkfReferenceBackwardInputs inputs;
    // Rows of dq, and keys of dk and dv, that the options select: first, first + stride, ...
    uint32_t first;
    uint32_t stride;
    // What the inputs lack, dense as the outputs of vkfReferenceAttention. Empty if the inputs have it.
    std::vector<double> o;
    std::vector<double> lse;

    const VkfTensorLayout& layout(VkfBackwardRole role) const { return layouts[static_cast<size_t>(role)]; }
    // The first selected number from `number` on.
    uint64_t nextSelected(uint64_t number) const {
        return number <= first ? first : number + (stride - (number - first) % stride) % stride;
    }
    bool selects(uint64_t number) const { return nextSelected(number) == number; }
    bool selectsAll() const { return first == 0 && stride == 1; }
    VkfReferenceAlgorithm algorithm() const { return forward.options.algorithm; }

    // Index of a row among all rows of all heads. `row` counts the rows of all packed sequences.
    uint64_t rowNumber(uint32_t batch, uint32_t queryHead, uint32_t row) const {
        return forward.headNumber(batch, queryHead) * forward.problem.queryRows + row;
    }
    // Index of a key among all keys of all KV heads, likewise.
    uint64_t keyNumber(uint32_t batch, uint32_t kvHead, uint32_t key) const {
        const uint64_t sequence = has(forward.problem, VKF_USE_CU_SEQLENS) ? 0 : batch;
        return (sequence * forward.problem.kvHeads + kvHead) * forward.problem.keys + key;
    }
    double lseOf(uint64_t rowNumber) const {
        return inputs.lse != nullptr ? static_cast<double>(inputs.lse[rowNumber]) : lse[rowNumber];
    }
    double dlseOf(uint64_t rowNumber) const {
        return has(problem, VKF_USE_DLSE) ? static_cast<double>(inputs.dlse[rowNumber]) : 0.0;
    }
    // Read one row of dout or o.
    void loadDout(uint32_t batch, uint32_t queryHead, uint32_t row, double* to) const {
        const VkfTensorLayout& tensor = layout(VKF_BACKWARD_DOUT);
        loadElements(tensor.type, inputs.dout, elementOf(tensor, tensorBatch(batch), queryHead, row), tensor.dim, to,
                     1);
    }
    void loadO(uint32_t batch, uint32_t queryHead, uint32_t row, double* to) const {
        const VkfTensorLayout& tensor = forward.layout(VKF_TENSOR_O);
        if (inputs.o != nullptr) {
            loadElements(tensor.type, inputs.o, elementOf(tensor, tensorBatch(batch), queryHead, row), tensor.dim, to,
                         1);
        } else {
            std::copy_n(&o[rowNumber(batch, queryHead, row) * tensor.dim], tensor.dim, to);
        }
    }
    // The factor of the bias of a query head.
    double biasFactor(uint32_t queryHead) const {
        return has(forward.problem, VKF_USE_BIAS_FACTORS) ? static_cast<double>(forward.inputs.biasFactors[queryHead])
                                                          : 1.0;
    }
    // The element of the bias of key 0. `row` counts the rows of the sequence.
    uint64_t biasElement(uint32_t batch, uint32_t queryHead, uint64_t row) const {
        const VkfBroadcastArray& bias = forward.problem.bias;
        return firstElement(bias, batch, queryHead) + row * bias.rowStride;
    }
    // The masks of one query head.
    Mask maskFor(uint32_t batch, uint32_t queryHead) const {
        Mask mask =
            maskOf(forward.problem, forward.rowsOf(batch).size(), forward.keyLength(batch), forward.rowOffset(batch));
        mask.blocks = forward.blockMask(batch, queryHead);
        mask.documents = forward.documents(batch, mask.keys);
        mask.booleans = forward.booleanMask(batch, queryHead, mask.keys);
        mask.own = forward.ownMask(batch, queryHead, mask);
        return mask;
    }

private:
    // Packed sequences lie in a tensor with a batch of 1.
    uint64_t tensorBatch(uint32_t batch) const { return has(forward.problem, VKF_USE_CU_SEQLENS) ? 0 : batch; }
};

// Calls visit(KeyRange) for the keys of a range that the call needs with one row: all of them if dq of the row is
// selected, else the keys that are selected. `firstKey` is the first key of the sequence among all packed keys.
template <typename Visit>
void forEachWanted(const BackwardCall& call, KeyRange keys, uint32_t firstKey, bool rowSelected, const Visit& visit) {
    if (rowSelected || call.selectsAll()) {
        visit(keys);
        return;
    }
    const uint64_t end = firstKey + static_cast<uint64_t>(keys.end);
    for (uint64_t number = call.nextSelected(firstKey + static_cast<uint64_t>(keys.begin)); number < end;
         number += call.stride) {
        const auto key = static_cast<int64_t>(number - firstKey);
        visit(KeyRange{key, key + 1});
    }
}

// Checks a call, and fills *call on success. `options` may be null. Does not compute o and lse.
VkfResult checkBackwardCall(const VkfBackwardProblem* problem, const VkfReferenceInputs* inputs,
                            const VkfReferenceBackwardInputs* backwardInputs, const VkfReferenceOptions* options,
                            BackwardCall* call, VkfMessage* message);

} // namespace vkf::reference
