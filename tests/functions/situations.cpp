// SPDX-License-Identifier: MIT
#include "functions/situations.hpp"

#include "functions/compiled_example.hpp"
#include "support/masks.hpp"

namespace vkf::test {
namespace {

void setTypes(VkfProblem& p, VkfType type) { p.q.type = p.k.type = p.v.type = p.o.type = type; }

void setLengths(VkfProblem& p, Data& data) {
    enable(p, VKF_USE_KEY_LENGTHS);
    data.keyLengths = {57, static_cast<int32_t>(p.keys)};
}

// [batch, rows, heads, dim] with a gap behind each row of each head.
void scatter(VkfTensor& tensor, uint64_t rows, uint64_t heads, uint64_t dim, uint64_t gap) {
    tensor.headStride = dim + gap;
    tensor.rowStride = heads * (dim + gap) + gap;
    tensor.batchStride = rows * tensor.rowStride + gap;
}

void scatterAll(VkfProblem& p, Data& /*data*/) {
    scatter(p.q, p.queryRows, p.queryHeads, p.headDim, 3);
    scatter(p.k, p.keys, p.kvHeads, p.headDim, 1);
    scatter(p.v, p.keys, p.kvHeads, p.headDim, 2);
    scatter(p.o, p.queryRows, p.queryHeads, p.headDim, 7);
}

void addBiasAndSinks(VkfProblem& p, Data& /*data*/) {
    p.bias = broadcast(p, VKF_TYPE_F16, true, true, true, 3);
    enable(p, VKF_USE_BIAS | VKF_USE_SINKS);
}

void addMaskAndDocuments(VkfProblem& p, Data& data) {
    p.mask = broadcast(p, VKF_TYPE_BOOL8, true, false, true, 3);
    enable(p, VKF_USE_MASK | VKF_USE_DOCUMENT_IDS);
    data.documentKeys = 60;
    data.maskDensity = 0.8;
}

void addBlockMask(VkfProblem& p, Data& /*data*/) {
    p.blockMask.blockSize = 32;
    enable(p, VKF_USE_BLOCK_MASK);
    const VkfBlockMaskLayout layout = blockMaskLayoutOf(p);
    p.blockMask.headStride = uint64_t{layout.rowBlocks} * layout.rowWords;
}

} // namespace

const std::vector<Situation>& situations() {
    static const std::vector<Situation> all = {
        {"as it is", [](VkfProblem&, Data&) {}},
        {"packed sequences",
         [](VkfProblem& p, Data& data) {
             setPacked(p, data, {30, 0, 40}, {61, 7, 63});
         }},
        {"bf16", [](VkfProblem& p, Data&) { setTypes(p, VKF_TYPE_BF16); }},
        {"softcap and ALiBi",
         [](VkfProblem& p, Data&) {
             p.softcap = 3.0F;
             p.use |= VKF_USE_ALIBI;
         }},
        {"pages and key lengths",
         [](VkfProblem& p, Data& data) {
             setPages(p, 16, 3);
             setLengths(p, data);
         }},
        {"causal", [](VkfProblem& p, Data&) { p.use |= VKF_USE_CAUSAL; }},
        {"fp32", [](VkfProblem& p, Data&) { setTypes(p, VKF_TYPE_F32); }},
        {"more rows than keys, and a window",
         [](VkfProblem& p, Data&) {
             p.queryRows = gallery::rows;
             p.keys = 97;
             setWindow(p, 60, 50);
         }},
        {"key splits", [](VkfProblem& p, Data&) { p.kvSplits = 3; }},
        {"gaps between rows", scatterAll},
        {"mask and documents", addMaskAndDocuments},
        {"block types",
         [](VkfProblem& p, Data&) {
             p.k.type = VKF_TYPE_Q8_0;
             p.v.type = VKF_TYPE_Q4_0;
         }},
        {"key lengths", setLengths},
        {"bias and sinks", addBiasAndSinks},
        {"top-left, with more rows than keys",
         [](VkfProblem& p, Data&) {
             p.queryRows = gallery::rows;
             p.alignment = VKF_ALIGNMENT_TOP_LEFT;
             p.use |= VKF_USE_CAUSAL;
         }},
        {"a few rows", [](VkfProblem& p, Data&) { p.queryRows = 3; }},
        {"blocks of keys", addBlockMask},
        {"dropout",
         [](VkfProblem& p, Data&) {
             p.dropout.probability = 0.3F;
             p.dropout.seed = 77;
         }},
    };
    return all;
}

} // namespace vkf::test
