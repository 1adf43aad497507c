// SPDX-License-Identifier: MIT
//
// A problem in words, for messages of failed tests.
#include <sstream>
#include <tuple>

#include "support/call.hpp"

namespace vkf::test {

std::string describe(const VkfProblem& p) {
    std::ostringstream text;
    text << vkfPathName(p.path) << " B" << p.batch << " H" << p.queryHeads << "/" << p.kvHeads << " N" << p.queryRows
         << "x" << p.keys << " D" << p.headDim << "/" << p.valueDim << " " << vkfTypeName(p.q.type) << ","
         << vkfTypeName(p.k.type) << "," << vkfTypeName(p.v.type) << "->" << vkfTypeName(p.o.type) << " scale "
         << p.scale << " softcap " << p.softcap << (vkf::has(p, VKF_USE_CAUSAL) ? " causal" : "")
         << (p.alignment == VKF_ALIGNMENT_TOP_LEFT ? " top-left" : "");
    if (vkf::has(p, VKF_USE_WINDOW)) {
        text << " window " << p.window.left << "," << p.window.right << " first " << p.window.firstKeys;
    }
    if (has(p, VKF_USE_POSITIONS)) {
        text << " rows at " << p.positions.firstRow << "," << p.positions.rowStride << " keys at "
             << p.positions.firstKey << "," << p.positions.keyStride
             << (has(p, VKF_USE_ROW_OFFSETS) ? " offsets on the device" : "");
    }
    if (has(p, VKF_USE_CHOSEN_KEYS)) {
        text << " lists of " << p.chosenKeys.count << " [" << p.chosenKeys.batchStride << "," << p.chosenKeys.headStride
             << "," << p.chosenKeys.rowStride << "]";
    }
    for (const VkfTensor* tensor : {&p.q, &p.k, &p.v, &p.o}) {
        text << " [" << tensor->batchStride << "," << tensor->headStride << "," << tensor->rowStride << "]";
    }
    if (has(p, VKF_USE_BLOCK_TABLE)) {
        text << " pages of " << p.paging.pageSize << ", " << p.paging.maxPages << " of " << p.paging.pages;
    }
    if (has(p, VKF_USE_BLOCK_MASK)) {
        text << " blocks of " << p.blockMask.blockSize << " [" << p.blockMask.batchStride << ","
             << p.blockMask.headStride << "]";
    }
    if (vkf::has(p, VKF_USE_ALIBI)) {
        text << (has(p, VKF_USE_ALIBI_SLOPES) ? " custom alibi" : " alibi");
    }
    text << (has(p, VKF_USE_SINKS) ? " sinks" : "") << (has(p, VKF_USE_DOCUMENT_IDS) ? " documents" : "");
    if (p.dropout.probability != 0.0F) {
        text << " dropout " << p.dropout.probability << " seed " << p.dropout.seed
             << (has(p, VKF_USE_DROPOUT_SEED) ? " on the device" : "");
    }
    const std::tuple<VkfUseBits, const VkfBroadcastArray&, const char*> arrays[] = {
        {VKF_USE_BIAS, p.bias, " bias "},
        {VKF_USE_MASK, p.mask, " mask "},
        {VKF_USE_DROPOUT_MASK, p.dropoutMask, " dropout mask "}};
    for (const auto& [bit, array, name] : arrays) {
        if (has(p, bit)) {
            text << name << vkfTypeName(array.type) << " [" << array.batchStride << "," << array.headStride << ","
                 << array.rowStride << "]";
            if (array.lastKeys != 0) {
                text << " of the last " << array.lastKeys << " keys";
            }
        }
    }
    text << (has(p, VKF_USE_BIAS_FACTORS) ? " factors" : "");
    if (has(p, VKF_USE_KV_SCALES)) {
        text << " scales " << p.k.scales << "," << p.v.scales;
    }
    if (has(p, VKF_USE_CU_SEQLENS)) {
        text << " packed, longest " << p.longestRows << "x" << p.longestKeys;
    }
    if (p.kvSplits != 0) {
        text << " splits " << p.kvSplits;
    }
    if (p.splitKeys != 0) {
        text << " splits of " << p.splitKeys << " keys";
    }
    text << (has(p, VKF_USE_KEY_LENGTHS) ? " lengths" : "") << (has(p, VKF_USE_LSE) ? " lse" : "")
         << (has(p, VKF_USE_PROBABILITIES) ? " probabilities" : "");
    if (p.probabilityRowCount != 0) {
        text << " of " << p.probabilityRowCount << " rows";
    }
    return text.str();
}

} // namespace vkf::test
