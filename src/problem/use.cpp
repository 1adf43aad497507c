// SPDX-License-Identifier: MIT
//
// The bits of `use`: their names, and checks of VkfProblem::use: the bits, the parameter fields that go with them, and
// bits without which others have no meaning.
#include "problem/checks.hpp"

#include <algorithm>

#include "base/message.hpp"
#include "base/texts.hpp"
#include "problem/arrays.hpp"
#include "problem/problem.hpp"

namespace vkf {
namespace {

// Bits that do not belong to an array of attention. The table of arrays has the others.
constexpr Text otherBits[] = {
    VKF_TEXT(VKF_USE_CAUSAL),     VKF_TEXT(VKF_USE_WINDOW),      VKF_TEXT(VKF_USE_ALIBI),
    VKF_TEXT(VKF_USE_QUERIES),    VKF_TEXT(VKF_USE_NEW_LENGTHS), VKF_TEXT(VKF_USE_ROTARY_TABLES),
    VKF_TEXT(VKF_USE_DLSE),       VKF_TEXT(VKF_USE_FUNCTIONS),   VKF_TEXT(VKF_USE_POSITIONS),
    VKF_TEXT(VKF_USE_BASE_2_LSE), VKF_TEXT(VKF_USE_TILE_MAP),    VKF_TEXT(VKF_USE_ROTARY_POSITIONS),
};

VkfUse arrayBits() {
    VkfUse bits = 0;
    for (const ArrayRow& row : arrayTable) {
        bits |= static_cast<VkfUse>(row.bit);
    }
    return bits;
}

VkfUse attentionBits() {
    return arrayBits() | VKF_USE_CAUSAL | VKF_USE_WINDOW | VKF_USE_ALIBI | VKF_USE_FUNCTIONS | VKF_USE_POSITIONS |
           VKF_USE_TILE_MAP;
}

VkfUse knownBits() {
    VkfUse bits = arrayBits();
    for (const Text& other : otherBits) {
        bits |= static_cast<VkfUse>(other.value);
    }
    return bits;
}

struct ParameterField {
    VkfUseBits bit;
    bool isSet;
    const char* field;
};

VkfResult checkParameterFields(const VkfProblem& p, VkfMessage* message) {
    const ParameterField parameterFields[] = {
        {VKF_USE_BIAS, !isZero(p.bias), "bias"},
        {VKF_USE_MASK, !isZero(p.mask), "mask"},
        {VKF_USE_DROPOUT_MASK, !isZero(p.dropoutMask), "dropoutMask"},
        {VKF_USE_BLOCK_MASK, !isZero(p.blockMask), "blockMask"},
        {VKF_USE_BLOCK_TABLE, !isZero(p.paging), "paging"},
        {VKF_USE_PROBABILITY_ROWS, p.probabilityRowCount != 0, "probabilityRowCount"},
        {VKF_USE_FUNCTIONS, p.functions != nullptr, "functions"},
        {VKF_USE_POSITIONS, !isZero(p.positions), "positions"},
        {VKF_USE_CHOSEN_KEYS, !isZero(p.chosenKeys), "chosenKeys"},
        {VKF_USE_WINDOW, p.window.left != 0 || p.window.right != 0 || p.window.firstKeys != 0, "window"},
    };
    for (const ParameterField& parameterField : parameterFields) {
        if (parameterField.isSet && !has(p, parameterField.bit)) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is not zero, but use lacks %s", parameterField.field,
                        vkfUseString(parameterField.bit));
        }
    }
    if (has(p, VKF_USE_BLOCK_MASK) && p.blockMask.blockSize == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "blockMask.blockSize is 0; it must be a multiple of 16");
    }
    if (has(p, VKF_USE_CHOSEN_KEYS) && p.chosenKeys.count == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                    "chosenKeys.count is 0; with VKF_USE_CHOSEN_KEYS it must be at least 1");
    }
    if (has(p, VKF_USE_FUNCTIONS) && p.functions == nullptr) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "functions is null, but use has VKF_USE_FUNCTIONS");
    }
    if (has(p, VKF_USE_PROBABILITY_ROWS) && p.probabilityRowCount == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                    "probabilityRowCount is 0; with VKF_USE_PROBABILITY_ROWS it must be at least 1");
    }
    return VKF_SUCCESS;
}

// Refuses a bit that has no meaning without another bit.
VkfResult checkCompanions(const VkfProblem& p, VkfMessage* message) {
    const struct {
        VkfUseBits bit;
        VkfUseBits companion;
    } companions[] = {
        {VKF_USE_ALIBI_SLOPES, VKF_USE_ALIBI},
        {VKF_USE_BIAS_FACTORS, VKF_USE_BIAS},
        {VKF_USE_PROBABILITY_ROWS, VKF_USE_PROBABILITIES},
        {VKF_USE_ROW_OFFSETS, VKF_USE_POSITIONS},
    };
    for (const auto& [bit, companion] : companions) {
        if (has(p, bit) && !has(p, companion)) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "use has %s without %s", vkfUseString(bit),
                        vkfUseString(companion));
        }
    }
    return VKF_SUCCESS;
}

} // namespace

VkfResult checkUseBits(VkfUse use, VkfUse allowed, const char* problem, VkfMessage* message) {
    if (const VkfUse unknown = use & ~knownBits(); unknown != 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "use has bits 0x%x, which this version does not know", unknown);
    }
    if (const VkfUse wrong = use & ~allowed; wrong != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "use has %s, which %s does not have",
                    vkfUseString(static_cast<VkfUseBits>(wrong & (~wrong + 1))), problem);
    }
    return VKF_SUCCESS;
}

VkfResult checkUse(const VkfProblem& p, VkfMessage* message) {
    VkfResult result = checkUseBits(p.use, attentionBits(), "attention", message);
    if (result == VKF_SUCCESS) {
        result = checkParameterFields(p, message);
    }
    if (result == VKF_SUCCESS) {
        result = checkScalesBit(p, message);
    }
    return result == VKF_SUCCESS ? checkCompanions(p, message) : result;
}

} // namespace vkf

const char* vkfUseString(VkfUseBits bit) {
    const auto* const row = std::find_if(vkf::arrayTable.begin(), vkf::arrayTable.end(),
                                         [bit](const vkf::ArrayRow& array) { return array.bit == bit; });
    return row != vkf::arrayTable.end() ? row->bitName : vkf::find(vkf::otherBits, bit, "unknown bit");
}
