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

// The push constants of the attention kernel. Strides of rows count elements, or blocks of block types, or groups of
// four fp32 keys or values; strides of heads and sequences count bytes.
struct PushConstants {
    uint32_t tileableRows; // rows that a workgroup may tile: query rows, or with groupedHeads > 1 the heads of a group
    uint32_t keys;
    uint32_t resultHeads, resultRows, resultSequences;
    uint32_t queryHeads, querySequences;
    uint32_t keyHeads, keySequences;
    uint32_t valueHeads, valueSequences;
    uint32_t maskRows, maskHeads, maskSequences; // 0 without a mask
    uint32_t queryRowStride, queryHeadBytes, querySequenceBytes;
    uint32_t keyRowStride, keyHeadBytes, keySequenceBytes;
    uint32_t valueRowStride, valueHeadBytes, valueSequenceBytes;
    float scale; // divided by the softcap if there is one
    float maxBias, softcap;
    uint32_t headsAndSinks; // largest power of two up to queryHeads; bit 24: there are sinks
    float firstSlope, secondSlope;
    uint32_t groupedHeads; // over 1: a workgroup takes one query row of so many heads
    uint32_t splitKeys, splits;
};
constexpr uint32_t pushConstantBytes = 128;
static_assert(sizeof(PushConstants) == pushConstantBytes);

// The push constants of the reduction kernel.
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
