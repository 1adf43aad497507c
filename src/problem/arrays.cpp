// SPDX-License-Identifier: MIT
#include "problem/arrays.hpp"

#include <algorithm>

#include "problem/dropout.hpp"
#include "problem/masks/chosen_keys.hpp"
#include "problem/masks/mask_layout.hpp"
#include "problem/problem.hpp"
#include "shared/constant_ids.h"

namespace vkf {
namespace {

using P = VkfProblem;
using T = shared::CallTable;

constexpr uint64_t words = sizeof(uint32_t); // alignment of arrays of 32-bit numbers

// Whether a problem has an input.
template <VkfUseBits bit> bool isOn(const P& p) { return has(p, bit); }
bool hasPackedKeys(const P& p) { return has(p, VKF_USE_CU_SEQLENS) && !has(p, VKF_USE_BLOCK_TABLE); }
// The generator needs a seed, from the problem or from the binding.
bool hasSeed(const P& p) { return hasDropout(p) && !has(p, VKF_USE_DROPOUT_MASK); }

// Bytes of each input.
uint64_t lse(const P& p) { return uint64_t{tensorSequences(p)} * p.queryHeads * p.queryRows * sizeof(float); }
uint64_t probabilities(const P& p) {
    return uint64_t{p.batch} * p.queryHeads * probabilityRows(p) * p.keys * sizeof(float);
}
uint64_t chosenRows(const P& p) { return p.keys != 0 ? p.probabilityRowCount * sizeof(int32_t) : 0; }
uint64_t perSequence(const P& p) { return uint64_t{p.batch} * sizeof(int32_t); }
uint64_t blockMask(const P& p) { return blockMaskLayout(p).words * sizeof(uint32_t); }
uint64_t blockTable(const P& p) { return p.keys != 0 ? uint64_t{p.batch} * p.paging.maxPages * sizeof(int32_t) : 0; }
uint64_t perHead(const P& p) { return uint64_t{p.queryHeads} * sizeof(float); }
template <VkfUseBits bit> uint64_t broadcast(const P& p) { return broadcastBytes(p, bit); }
uint64_t documentIds(const P& p) { return uint64_t{keySequences(p)} * p.keys * sizeof(int32_t); }
uint64_t starts(const P& p) { return (uint64_t{p.batch} + 1) * sizeof(int32_t); }
uint64_t kvScales(const P& p) { return (uint64_t{p.k.scales} + p.v.scales) * sizeof(float); }
uint64_t chosenKeys(const P& p) { return listEntries(p) * sizeof(int32_t); }
uint64_t seed(const P& p) { return hasBoundSeed(p) ? sizeof(uint64_t) : 0; }

constexpr bool output = true;
constexpr bool input = false;
constexpr bool inBackward = true;
constexpr bool forwardOnly = false;

#define VKF_BIT(bit) bit, #bit

constexpr bool areInOrder(const std::array<ArrayRow, arrayCount>& rows) {
    for (size_t i = 0; i < rows.size(); i++) {
        if (static_cast<size_t>(rows[i].array) != i) {
            return false;
        }
    }
    return true;
}

// clang-format off
constexpr std::array<ArrayRow, arrayCount> table = {{
    // array,                    bit and its name,                  name,              described, constant,                align, has,                            bytes,                           passedIn,               field,            broadcast,       strides,            repeats,             output, backward
    {VKF_ARRAY_LSE,              VKF_BIT(VKF_USE_LSE),              "lse",             nullptr,   VKF_ID_LSE,              words, isOn<VKF_USE_LSE>,              lse,                             PassedIn::operand,      nullptr,          nullptr,         nullptr,            nullptr,             output, inBackward},
    {VKF_ARRAY_PROBABILITIES,    VKF_BIT(VKF_USE_PROBABILITIES),    "probabilities",   nullptr,   noConstant,              words, isOn<VKF_USE_PROBABILITIES>,    probabilities,                   PassedIn::operand,      nullptr,          nullptr,         nullptr,            nullptr,             output, inBackward},
    {VKF_ARRAY_PROBABILITY_ROWS, VKF_BIT(VKF_USE_PROBABILITY_ROWS), "probabilityRows", nullptr,   noConstant,              words, isOn<VKF_USE_PROBABILITY_ROWS>, chosenRows,                      PassedIn::operand,      nullptr,          nullptr,         nullptr,            nullptr,             input,  inBackward},
    {VKF_ARRAY_KEY_LENGTHS,      VKF_BIT(VKF_USE_KEY_LENGTHS),      "keyLengths",      nullptr,   VKF_ID_KEY_LENGTHS,      words, isOn<VKF_USE_KEY_LENGTHS>,      perSequence,                     PassedIn::pushConstant, nullptr,          nullptr,         nullptr,            nullptr,             input,  inBackward},
    {VKF_ARRAY_BLOCK_MASK,       VKF_BIT(VKF_USE_BLOCK_MASK),       "blockMask",       nullptr,   noConstant,              words, isOn<VKF_USE_BLOCK_MASK>,       blockMask,                       PassedIn::extraSlot,    &T::block_mask,   nullptr,         nullptr,            nullptr,             input,  inBackward},
    {VKF_ARRAY_BLOCK_TABLE,      VKF_BIT(VKF_USE_BLOCK_TABLE),      "blockTable",      nullptr,   noConstant,              words, isOn<VKF_USE_BLOCK_TABLE>,      blockTable,                      PassedIn::extraSlot,    &T::block_table,  nullptr,         nullptr,            nullptr,             input,  forwardOnly},
    {VKF_ARRAY_SINKS,            VKF_BIT(VKF_USE_SINKS),            "sinks",           "sinks",   VKF_ID_SINKS,            words, isOn<VKF_USE_SINKS>,            perHead,                         PassedIn::extraSlot,    &T::sinks,        nullptr,         nullptr,            nullptr,             input,  inBackward},
    {VKF_ARRAY_ALIBI_SLOPES,     VKF_BIT(VKF_USE_ALIBI_SLOPES),     "alibiSlopes",     nullptr,   noConstant,              words, isOn<VKF_USE_ALIBI_SLOPES>,     perHead,                         PassedIn::extraSlot,    &T::slopes,       nullptr,         nullptr,            nullptr,             input,  inBackward},
    {VKF_ARRAY_BIAS,             VKF_BIT(VKF_USE_BIAS),             "bias",            nullptr,   noConstant,              words, isOn<VKF_USE_BIAS>,             broadcast<VKF_USE_BIAS>,         PassedIn::callTable,    &T::bias,         &P::bias,        &T::bias_stride,    &T::bias_repeats,    input,  inBackward},
    {VKF_ARRAY_MASK,             VKF_BIT(VKF_USE_MASK),             "mask",            nullptr,   noConstant,              words, isOn<VKF_USE_MASK>,             broadcast<VKF_USE_MASK>,         PassedIn::callTable,    &T::mask,         &P::mask,        &T::mask_stride,    &T::mask_repeats,    input,  inBackward},
    {VKF_ARRAY_DOCUMENT_IDS,     VKF_BIT(VKF_USE_DOCUMENT_IDS),     "documentIds",     nullptr,   VKF_ID_DOCUMENTS,        words, isOn<VKF_USE_DOCUMENT_IDS>,     documentIds,                     PassedIn::callTable,    &T::documents,    nullptr,         nullptr,            nullptr,             input,  inBackward},
    {VKF_ARRAY_CU_SEQLENS_Q,     VKF_BIT(VKF_USE_CU_SEQLENS),       "cuSeqlensQ",      nullptr,   VKF_ID_PACKED_SEQUENCES, words, isOn<VKF_USE_CU_SEQLENS>,       starts,                          PassedIn::callTable,    &T::row_starts,   nullptr,         nullptr,            nullptr,             input,  inBackward},
    {VKF_ARRAY_CU_SEQLENS_K,     VKF_BIT(VKF_USE_CU_SEQLENS),       "cuSeqlensK",      nullptr,   noConstant,              words, hasPackedKeys,                  starts,                          PassedIn::callTable,    &T::key_starts,   nullptr,         nullptr,            nullptr,             input,  inBackward},
    {VKF_ARRAY_DROPOUT_MASK,     VKF_BIT(VKF_USE_DROPOUT_MASK),     "dropoutMask",     nullptr,   noConstant,              words, isOn<VKF_USE_DROPOUT_MASK>,     broadcast<VKF_USE_DROPOUT_MASK>, PassedIn::callTable,    &T::dropout,      &P::dropoutMask, &T::dropout_stride, &T::dropout_repeats, input,  inBackward},
    {VKF_ARRAY_DROPOUT_SEED,     VKF_BIT(VKF_USE_DROPOUT_SEED),     "dropoutSeed",     nullptr,   noConstant,              8,     hasSeed,                        seed,                            PassedIn::callTable,    &T::dropout,      nullptr,         nullptr,            nullptr,             input,  inBackward},
    {VKF_ARRAY_BIAS_FACTORS,     VKF_BIT(VKF_USE_BIAS_FACTORS),     "biasFactors",     nullptr,   VKF_ID_BIAS_FACTORS,     words, isOn<VKF_USE_BIAS_FACTORS>,     perHead,                         PassedIn::callTable,    &T::bias_factors, nullptr,         nullptr,            nullptr,             input,  inBackward},
    {VKF_ARRAY_ROW_OFFSETS,      VKF_BIT(VKF_USE_ROW_OFFSETS),      "rowOffsets",      nullptr,   noConstant,              words, isOn<VKF_USE_ROW_OFFSETS>,      perSequence,                     PassedIn::callTable,    &T::row_offset,   nullptr,         nullptr,            nullptr,             input,  inBackward},
    {VKF_ARRAY_KV_SCALES,        VKF_BIT(VKF_USE_KV_SCALES),        "kvScales",        "scales",  noConstant,              words, isOn<VKF_USE_KV_SCALES>,        kvScales,                        PassedIn::extraSlot,    &T::kv_scales,    nullptr,         nullptr,            nullptr,             input,  forwardOnly},
    {VKF_ARRAY_CHOSEN_KEYS,      VKF_BIT(VKF_USE_CHOSEN_KEYS),      "chosenKeys",      nullptr,   noConstant,              words, isOn<VKF_USE_CHOSEN_KEYS>,      chosenKeys,                      PassedIn::callTable,    &T::chosen_keys,  nullptr,         nullptr,            nullptr,             input,  forwardOnly},
}};
// clang-format on
static_assert(areInOrder(table));

#undef VKF_BIT

} // namespace

const std::array<ArrayRow, arrayCount> arrayTable = table;

uint32_t extraSlot(const VkfProblem& problem) {
    // The addresses of functions' arrays stand before the table, and the offset of positions in it.
    if (functionArrayCount(problem) != 0 || has(problem, VKF_USE_POSITIONS)) {
        return VKF_EXTRA_SLOT_HAS_TABLE;
    }
    uint32_t inExtraSlot = 0;
    for (const ArrayRow& row : arrayTable) {
        if (row.passedIn == PassedIn::callTable && row.has(problem)) {
            return VKF_EXTRA_SLOT_HAS_TABLE;
        }
        inExtraSlot += row.passedIn == PassedIn::extraSlot && row.has(problem) ? 1 : 0;
    }
    return inExtraSlot == 0   ? VKF_EXTRA_SLOT_HAS_WINDOW
           : inExtraSlot == 1 ? VKF_EXTRA_SLOT_HAS_ADDRESS
                              : VKF_EXTRA_SLOT_HAS_TABLE;
}

namespace {

// Whether the problem has the optional input and no other one, not even numbers in a table.
bool hasOnly(const VkfProblem& problem, VkfArray array) {
    const bool inTable = functionArrayCount(problem) != 0 || has(problem, VKF_USE_POSITIONS);
    return !inTable && std::all_of(arrayTable.begin(), arrayTable.end(), [&](const ArrayRow& row) {
        const bool inSlot = row.passedIn == PassedIn::extraSlot || row.passedIn == PassedIn::callTable;
        return !inSlot || row.has(problem) == (row.array == array);
    });
}

} // namespace

bool hasOnlySharedBias(const VkfProblem& problem) {
    const VkfBroadcastArray& bias = problem.bias;
    const bool ofHeads = repeatedCount(bias.heads, problem.queryHeads) > 1 && bias.headStride != 0;
    const bool ofSequences = repeatedCount(bias.sequences, problem.batch) > 1 && bias.batchStride != 0;
    const bool inTurn = problem.queryRows <= 1 || bias.rowStride == problem.keys;
    return hasOnly(problem, VKF_ARRAY_BIAS) && !ofHeads && !ofSequences && inTurn;
}

bool hasOnlySquareMask(const VkfProblem& problem) {
    const VkfBroadcastArray& mask = problem.mask;
    const bool square = mask.lastKeys == problem.queryRows && mask.rowStride == problem.queryRows;
    const bool ofHeads = repeatedCount(mask.heads, problem.queryHeads) > 1 && mask.headStride != 0;
    const bool dense = repeatedCount(mask.sequences, problem.batch) == problem.batch &&
                       mask.batchStride == uint64_t{problem.queryRows} * problem.queryRows;
    return hasOnly(problem, VKF_ARRAY_MASK) && !has(problem, VKF_USE_FUNCTIONS) && square && !ofHeads &&
           (problem.batch == 1 || dense);
}

bool hasOnlyDenseLists(const VkfProblem& problem) {
    return hasOnly(problem, VKF_ARRAY_CHOSEN_KEYS) && hasDenseLists(problem);
}

} // namespace vkf
