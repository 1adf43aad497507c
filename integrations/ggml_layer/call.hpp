// SPDX-License-Identifier: MIT
//
// From one dispatch of ggml-vulkan's attention kernel to a problem of vkflash. Every field is checked against the
// others. A dispatch that does not add up is not taken.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <vkflash/problem.hpp>

#include "kernel.hpp"

namespace vkf::layer {

// The push constants of the attention kernel. Comments have ggml's names. Strides of rows count elements, or blocks of
// block types, or groups of four fp32 keys or values; strides of heads and sequences count bytes.
struct PushConstants {
    // N: rows that a workgroup may tile: query rows, or with groupedHeads > 1 the heads of a group
    uint32_t tileableRows;
    uint32_t keys;                                               // KV
    uint32_t resultHeads, resultRows, resultSequences;           // ne1, ne2, ne3
    uint32_t queryHeads, querySequences;                         // neq2, neq3
    uint32_t keyHeads, keySequences;                             // nek2, nek3
    uint32_t valueHeads, valueSequences;                         // nev2, nev3
    uint32_t maskRows, maskHeads, maskSequences;                 // nem1, nem2, nem3; 0 without a mask
    uint32_t queryRowStride, queryHeadBytes, querySequenceBytes; // nb01, nb02, nb03
    uint32_t keyRowStride, keyHeadBytes, keySequenceBytes;       // nb11, nb12, nb13
    uint32_t valueRowStride, valueHeadBytes, valueSequenceBytes; // nb21, nb22, nb23
    float scale;                                                 // divided by the softcap if there is one
    float maxBias, softcap;                                      // max_bias, logit_softcap
    uint32_t headsAndSinks;        // mask_n_head_log2: largest power of two up to queryHeads; bit 24: there are sinks
    float firstSlope, secondSlope; // m0, m1
    uint32_t groupedHeads;         // gqa_ratio; over 1: a workgroup takes one query row of so many heads
    uint32_t splitKeys, splits;    // split_kv, k_num; 0 means 1 split: there are enough workgroups
};
constexpr uint32_t pushConstantBytes = 128;
static_assert(sizeof(PushConstants) == pushConstantBytes);

// The push constants of the reduction kernel, fa_split_k_reduce: D, ne1, ne2, ne3, k_num, and whether there are sinks.
struct ReductionConstants {
    uint32_t valueDim, heads, rows, sequences, splits, sinks;
};

// One dispatch of the attention kernel. All bytes count, so that two dispatches can be compared byte by byte.
struct Dispatch {
    AttentionConstants constants;
    PushConstants push;
    std::array<uint32_t, 3> groups;
};

// What a dispatch asks for. All bytes that no field uses are 0.
struct DispatchProblem {
    VkfProblem problem;
    float maxBias; // over 0: the bias has factors, which ../ggml/slopes.hpp computes. Else 0.
    uint32_t padding;
};

// Fills *asked. Returns an empty text, or else why no problem of vkflash stands for the dispatch.
std::string describe(const Dispatch& dispatch, DispatchProblem* asked);

// Bytes of the mask; 0 without one.
uint64_t maskBytes(const PushConstants& push);

// Whether a reduction belongs to the dispatch before it.
bool belongs(const ReductionConstants& reduction, const Dispatch& dispatch);

} // namespace vkf::layer
