// SPDX-License-Identifier: MIT
#include "problem/optional_inputs.hpp"

#include "problem/dropout.hpp"
#include "problem/mask_layout.hpp"
#include "problem/problem.hpp"
#include "shared/constant_ids.h"

namespace vkf {
namespace {

using P = VkfProblem;
using T = shared::CallTable;

constexpr uint64_t words = sizeof(uint32_t); // alignment

// Whether a problem has an input.
template <VkfBool P::*field> bool isOn(const P& p) { return p.*field != 0; }
template <VkfBroadcastArray P::*field> bool isEnabled(const P& p) { return (p.*field).enabled != 0; }
bool hasChosenRows(const P& p) { return p.probabilityRows != 0; }
bool hasBlockMask(const P& p) { return p.maskBlock != 0; }
bool hasPages(const P& p) { return p.paging.enabled != 0; }
bool hasPackedKeys(const P& p) { return p.packed != 0 && p.paging.enabled == 0; }
bool hasSeed(const P& p) { return hasDropout(p) && p.dropoutMask.enabled == 0; } // perhaps one that is not bound

// Bytes.
uint64_t lse(const P& p) { return uint64_t{tensorSequences(p)} * p.queryHeads * p.queryRows * sizeof(float); }
uint64_t probabilities(const P& p) {
    return uint64_t{p.batch} * p.queryHeads * probabilityRows(p) * p.keys * sizeof(float);
}
uint64_t chosenRows(const P& p) { return p.keys != 0 ? p.probabilityRows * sizeof(int32_t) : 0; }
uint64_t ofSequences(const P& p) { return uint64_t{p.batch} * sizeof(int32_t); }
uint64_t blockMask(const P& p) { return blockMaskLayout(p).words * sizeof(uint32_t); }
uint64_t blockTable(const P& p) { return p.keys != 0 ? uint64_t{p.batch} * p.paging.maxPages * sizeof(int32_t) : 0; }
uint64_t ofHeads(const P& p) { return uint64_t{p.queryHeads} * sizeof(float); }
template <VkfBroadcastArray P::*field> uint64_t ofBias(const P& p) { return broadcastBytes(p, p.*field); }
uint64_t documentIds(const P& p) { return uint64_t{keySequences(p)} * p.keys * sizeof(int32_t); }
uint64_t starts(const P& p) { return (uint64_t{p.batch} + 1) * sizeof(int32_t); }
uint64_t seed(const P& p) { return hasBoundSeed(p) ? sizeof(uint64_t) : 0; }

constexpr bool output = true;

constexpr bool areInOrder(const std::array<OptionalInput, inputCount>& rows) {
    for (size_t i = 0; i < rows.size(); i++) {
        if (static_cast<size_t>(rows[i].input) != i) {
            return false;
        }
    }
    return true;
}

// clang-format off
constexpr std::array<OptionalInput, inputCount> table = {{
    // input            name           alignment  has                         bytes                    travel                field            broadcasts
    {Input::lse,         "lse",         words,    isOn<&P::lse>,              lse,                     Travel::operand,      nullptr,         nullptr, nullptr, output},
    {Input::probabilities,     "probabilities",     words,    isOn<&P::probabilities>,          probabilities,                 Travel::operand,      nullptr,         nullptr, nullptr, output},
    {Input::probabilityRows,  "probabilityRows",  words,    hasChosenRows,              chosenRows,              Travel::operand,      nullptr,         nullptr, nullptr, false},
    {Input::keyLengths,  "keyLengths",  words,    isOn<&P::keyLengths>,       ofSequences,             Travel::pushConstant, nullptr,         nullptr, nullptr, false},
    {Input::blockMask,   "blockMask",   words,    hasBlockMask,               blockMask,               Travel::windowSlot,   &T::block_mask,  nullptr, nullptr, false},
    {Input::blockTable,  "blockTable",  words,    hasPages,                   blockTable,              Travel::windowSlot,   &T::block_table, nullptr, nullptr, false},
    {Input::sinks,       "sinks",       words,    isOn<&P::sinks>,            ofHeads,                 Travel::windowSlot,   &T::sinks,       nullptr, nullptr, false},
    {Input::alibiSlopes, "alibiSlopes", words,    isOn<&P::alibiCustom>,      ofHeads,                 Travel::windowSlot,   &T::slopes,      nullptr, nullptr, false},
    {Input::bias,        "bias",        words,    isEnabled<&P::bias>,        ofBias<&P::bias>,        Travel::callTable,    &T::bias,        &P::bias, &T::bias_stride, false},
    {Input::mask,        "mask",        words,    isEnabled<&P::mask>,        ofBias<&P::mask>,        Travel::callTable,    &T::mask,        &P::mask, &T::mask_stride, false},
    {Input::documentIds, "documentIds", words,    isOn<&P::documents>,        documentIds,             Travel::callTable,    &T::documents,   nullptr, nullptr, false},
    {Input::cuSeqlensQ,  "cuSeqlensQ",  words,    isOn<&P::packed>,           starts,                  Travel::callTable,    &T::row_starts,  nullptr, nullptr, false},
    {Input::cuSeqlensK,  "cuSeqlensK",  words,    hasPackedKeys,              starts,                  Travel::callTable,    &T::key_starts,  nullptr, nullptr, false},
    {Input::dropoutMask, "dropoutMask", words,    isEnabled<&P::dropoutMask>, ofBias<&P::dropoutMask>, Travel::callTable,    &T::dropout,     &P::dropoutMask, &T::dropout_stride, false},
    {Input::dropoutSeed, "dropoutSeed", 8,        hasSeed,                    seed,                    Travel::callTable,    &T::dropout,     nullptr, nullptr, false},
    {Input::biasFactors, "biasFactors", words,    isOn<&P::biasFactors>,      ofHeads,                 Travel::callTable,    &T::bias_factors, nullptr, nullptr, false},
}};
// clang-format on
static_assert(areInOrder(table));

} // namespace

const std::array<OptionalInput, inputCount> optionalInputs = table;

uint32_t windowSlot(const VkfProblem& problem) {
    uint32_t inSlot = 0;
    for (const OptionalInput& row : optionalInputs) {
        if (row.travel == Travel::callTable && row.has(problem)) {
            return VKF_SLOT_HAS_TABLE;
        }
        inSlot += row.travel == Travel::windowSlot && row.has(problem) ? 1 : 0;
    }
    return inSlot == 0 ? VKF_SLOT_HAS_WINDOW : inSlot == 1 ? VKF_SLOT_HAS_ADDRESS : VKF_SLOT_HAS_TABLE;
}

} // namespace vkf
