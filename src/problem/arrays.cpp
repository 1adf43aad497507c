// SPDX-License-Identifier: MIT
//
// Checks of VkfProblem::arrays: the bits, the arrays' descriptions, and fields without which an array has no meaning.
#include "problem/checks.hpp"

#include <array>
#include <bit>

#include "base/message.hpp"
#include "problem/problem.hpp"

namespace vkf {
namespace {

// Names of VkfArrayBits. The index is the number of the bit.
constexpr std::array names = {
    "VKF_ARRAY_LSE",          "VKF_ARRAY_PROBABILITIES", "VKF_ARRAY_PROBABILITY_ROWS",
    "VKF_ARRAY_KEY_LENGTHS",  "VKF_ARRAY_BLOCK_MASK",    "VKF_ARRAY_BLOCK_TABLE",
    "VKF_ARRAY_SINKS",        "VKF_ARRAY_ALIBI_SLOPES",  "VKF_ARRAY_BIAS",
    "VKF_ARRAY_MASK",         "VKF_ARRAY_DOCUMENT_IDS",  "VKF_ARRAY_CU_SEQLENS",
    "VKF_ARRAY_DROPOUT_MASK", "VKF_ARRAY_DROPOUT_SEED",  "VKF_ARRAY_BIAS_FACTORS",
    "VKF_ARRAY_QUERIES",      "VKF_ARRAY_NEW_LENGTHS",   "VKF_ARRAY_ROTARY_TABLES",
};
constexpr VkfArrays knownArrays = (VkfArrays{1} << names.size()) - 1;
static_assert(knownArrays == 2 * VKF_ARRAY_ROTARY_TABLES - 1);
constexpr VkfArrays attentionArrays = 2 * VKF_ARRAY_BIAS_FACTORS - 1;

struct Description {
    VkfArrayBits array;
    bool given;
    const char* field;
};

VkfResult checkDescriptions(const VkfProblem& p, VkfMessage* message) {
    const Description descriptions[] = {
        {VKF_ARRAY_BIAS, !isZero(p.bias), "bias"},
        {VKF_ARRAY_MASK, !isZero(p.mask), "mask"},
        {VKF_ARRAY_DROPOUT_MASK, !isZero(p.dropoutMask), "dropoutMask"},
        {VKF_ARRAY_BLOCK_MASK, !isZero(p.blockMask), "blockMask"},
        {VKF_ARRAY_BLOCK_TABLE, !isZero(p.paging), "paging"},
        {VKF_ARRAY_PROBABILITY_ROWS, p.probabilityRowCount != 0, "probabilityRowCount"},
    };
    for (const Description& description : descriptions) {
        if (description.given && !has(p, description.array)) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is not zero, but arrays lacks %s", description.field,
                        arrayName(description.array));
        }
    }
    if (has(p, VKF_ARRAY_BLOCK_MASK) && p.blockMask.blockSize == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "blockMask.blockSize is 0; it must be a multiple of 16");
    }
    if (has(p, VKF_ARRAY_PROBABILITY_ROWS) && p.probabilityRowCount == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                    "probabilityRowCount is 0; with VKF_ARRAY_PROBABILITY_ROWS it must be at least 1");
    }
    return VKF_SUCCESS;
}

// Refuses an array that has no meaning without another field or array.
VkfResult checkCompanions(const VkfProblem& p, VkfMessage* message) {
    const struct {
        VkfArrayBits array;
        bool meaningful;
        const char* companion;
    } companions[] = {
        {VKF_ARRAY_ALIBI_SLOPES, p.alibi != 0, "alibi"},
        {VKF_ARRAY_BIAS_FACTORS, has(p, VKF_ARRAY_BIAS), "VKF_ARRAY_BIAS"},
        {VKF_ARRAY_PROBABILITY_ROWS, has(p, VKF_ARRAY_PROBABILITIES), "VKF_ARRAY_PROBABILITIES"},
    };
    for (const auto& companion : companions) {
        if (has(p, companion.array) && !companion.meaningful) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "arrays has %s without %s", arrayName(companion.array),
                        companion.companion);
        }
    }
    return VKF_SUCCESS;
}

} // namespace

const char* arrayName(VkfArrayBits array) {
    return names[static_cast<size_t>(std::countr_zero(static_cast<VkfArrays>(array)))];
}

VkfResult checkArrayBits(VkfArrays arrays, VkfArrays allowed, const char* problem, VkfMessage* message) {
    if ((arrays & ~knownArrays) != 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "arrays has bits 0x%x, which this version does not know",
                    arrays & ~knownArrays);
    }
    if (const VkfArrays wrong = arrays & ~allowed; wrong != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "arrays has %s, which %s does not have",
                    arrayName(static_cast<VkfArrayBits>(wrong & (~wrong + 1))), problem);
    }
    return VKF_SUCCESS;
}

VkfResult checkArrays(const VkfProblem& p, VkfMessage* message) {
    VkfResult result = checkArrayBits(p.arrays, attentionArrays, "attention", message);
    if (result == VKF_SUCCESS) {
        result = checkDescriptions(p, message);
    }
    return result == VKF_SUCCESS ? checkCompanions(p, message) : result;
}

} // namespace vkf
