// SPDX-License-Identifier: MIT
#include "calls/describe.hpp"

#include "calls/binding.hpp"
#include "problem/arrays.hpp"
#include "problem/masks/chosen_keys.hpp"
#include "problem/masks/positions.hpp"

namespace vkf {
namespace {

void describeMasks(const CheckedProblem& problem, Line* line) {
    const VkfProblem& p = problem.fields;
    if (has(p, VKF_USE_CAUSAL)) {
        line->add(", causal");
    }
    if (has(p, VKF_USE_WINDOW)) {
        line->add(", window %lld,%lld", static_cast<long long>(p.window.left), static_cast<long long>(p.window.right));
        if (p.window.firstKeys != 0) {
            line->add(" and %u first keys", p.window.firstKeys);
        }
    }
    if (problem.windowed() && p.alignment != VKF_ALIGNMENT_BOTTOM_RIGHT) {
        line->add(" %s", vkfAlignmentString(p.alignment));
    }
    if (has(p, VKF_USE_POSITIONS)) {
        line->add(", rows at %u + %lld i%s, keys at %u + %lld j", p.positions.firstRow,
                  static_cast<long long>(rowStrideOf(p)), has(p, VKF_USE_ROW_OFFSETS) ? " + rowOffsets" : "",
                  p.positions.firstKey, static_cast<long long>(keyStrideOf(p)));
    }
    if (has(p, VKF_USE_CHOSEN_KEYS)) {
        line->add(", %u chosen keys%s", p.chosenKeys.count, hasListsByRow(p) ? " of each row" : "");
    }
    const struct {
        VkfUseBits bit;
        const char* text;
    } masks[] = {{VKF_USE_KEY_LENGTHS, "key lengths"}, {VKF_USE_MASK, "mask"}, {VKF_USE_DOCUMENT_IDS, "documents"}};
    for (const auto& mask : masks) {
        if (has(p, mask.bit)) {
            line->add(", %s", mask.text);
        }
        if (mask.bit == VKF_USE_MASK && p.mask.lastKeys != 0) {
            line->add(" of the last %u keys", p.mask.lastKeys);
        }
    }
    if (has(p, VKF_USE_BLOCK_MASK)) {
        line->add(", blocks of %u", p.blockMask.blockSize);
    }
}

void describeTerms(const VkfProblem& p, Line* line) {
    if (p.softcap > 0.0F) {
        line->add(", softcap %g", static_cast<double>(p.softcap));
    }
    if (has(p, VKF_USE_ALIBI)) {
        line->add(", alibi");
    }
    if (has(p, VKF_USE_BIAS)) {
        line->add(", %s bias%s", vkfTypeName(p.bias.type), has(p, VKF_USE_BIAS_FACTORS) ? " with factors" : "");
    }
    const struct {
        VkfFunctionBits function;
        const char* text;
    } functions[] = {{VKF_FUNCTION_SCORE, "score"}, {VKF_FUNCTION_KEEP, "keep"}};
    for (const auto& [function, text] : functions) {
        if (hasFunction(p, function)) {
            line->add(", function %s", text);
        }
    }
    for (const ArrayRow& row : arrayTable) {
        if (row.described != nullptr && has(p, row.bit)) {
            line->add(", %s", row.described);
        }
    }
    if (p.dropout.probability > 0.0F) {
        line->add(", dropout %g", static_cast<double>(p.dropout.probability));
    }
}

// Names the tensors whose elements have gaps between them, or repeat.
void describeStrides(const CheckedProblem& problem, Line* line) {
    const char* separator = ", strides of ";
    for (const VkfTensorRole role : {VKF_TENSOR_Q, VKF_TENSOR_K, VKF_TENSOR_V, VKF_TENSOR_O}) {
        const VkfTensorLayout& layout = problem.layout(role);
        const bool dense =
            (layout.rows <= 1 || layout.rowStride == layout.dim) &&
            (layout.heads <= 1 || layout.headStride == uint64_t{layout.rows} * layout.dim) &&
            (layout.batch <= 1 || layout.batchStride == uint64_t{layout.heads} * layout.rows * layout.dim);
        if (!dense) {
            line->add("%s%s", separator, vkfTensorRoleString(role));
            separator = " ";
        }
    }
}

} // namespace

void describeProblem(const CheckedProblem& problem, Line* line) {
    const VkfProblem& p = problem.fields;
    line->add("%sB=%u%s H=%u/%u Nq=%u Nk=%u D=%u/%u %s,%s,%s->%s", problem.empty ? "empty, " : "", p.batch,
              has(p, VKF_USE_CU_SEQLENS) ? " packed" : "", p.queryHeads, p.kvHeads, p.queryRows, p.keys, p.headDim,
              p.valueDim, vkfTypeName(p.q.type), vkfTypeName(p.k.type), vkfTypeName(p.v.type), vkfTypeName(p.o.type));
    describeMasks(problem, line);
    describeTerms(p, line);
    if (has(p, VKF_USE_BLOCK_TABLE)) {
        line->add(", pages of %u", p.paging.pageSize);
    }
    if (has(p, VKF_USE_LSE)) {
        line->add(", lse");
    }
    if (has(p, VKF_USE_PROBABILITY_ROWS)) {
        line->add(", probabilities of %u rows", p.probabilityRowCount);
    } else if (has(p, VKF_USE_PROBABILITIES)) {
        line->add(", probabilities");
    }
    if (p.splitKeys != 0 && !neverSplits(p)) {
        line->add(", splits of %u keys", p.splitKeys);
    } else if (p.splitKeys != 0) {
        line->add(", never split");
    }
    describeStrides(problem, line);
}

} // namespace vkf
