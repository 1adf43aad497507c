// SPDX-License-Identifier: MIT
//
// Checks of single fields: their values and sizes. Also checks combinations that this version does not have.
#include "problem/checks.hpp"

#include <cmath>

#include "base/message.hpp"
#include "problem/problem.hpp"
#include "shared/attention_params.h"

namespace vkf {

VkfResult checkEnumerations(const VkfProblem& p, VkfMessage* message) {
    const struct {
        int value;
        int last;
        const char* name;
    } enumerations[] = {
        {p.path, VKF_PATH_WGMMA, "path"},
        {p.alignment, VKF_ALIGNMENT_TOP_LEFT, "alignment"},
        {p.precision, VKF_PRECISION_FP32, "precision"},
    };
    for (const auto& enumeration : enumerations) {
        if (enumeration.value < 0 || enumeration.value > enumeration.last) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is %d; it must be 0 to %d", enumeration.name,
                        enumeration.value, enumeration.last);
        }
    }
    return VKF_SUCCESS;
}

VkfResult checkNumbers(const VkfProblem& p, VkfMessage* message) {
    if (!std::isfinite(p.scale)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "scale is %g; it must be finite",
                    static_cast<double>(p.scale));
    }
    constexpr float largestScale = 0x1p126F;
    constexpr float minScale = 0x1p-126F;
    if (p.scale != 0.0F && (std::abs(p.scale) > largestScale || std::abs(p.scale) < minScale)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "scale is %g; its magnitude must be 0 or from 2^-126 to 2^126",
                    static_cast<double>(p.scale));
    }
    if (!std::isfinite(p.softcap) || p.softcap < 0.0F) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "softcap is %g; it must be finite and not negative",
                    static_cast<double>(p.softcap));
    }
    if (!std::isfinite(p.dropout.probability) || p.dropout.probability < 0.0F || p.dropout.probability >= 1.0F) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "dropout.probability is %g; it must be in [0, 1)",
                    static_cast<double>(p.dropout.probability));
    }
    if (has(p, VKF_USE_WINDOW) && (p.window.left < -1 || p.window.right < -1)) {
        const bool left = p.window.left < -1;
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "window.%s is %lld; it must be -1 (unlimited) or more",
                    left ? "left" : "right", static_cast<long long>(left ? p.window.left : p.window.right));
    }
    if (has(p, VKF_USE_CAUSAL) && has(p, VKF_USE_WINDOW) && p.window.right > 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "window.right is %lld; with VKF_USE_CAUSAL it must be 0 or -1",
                    static_cast<long long>(p.window.right));
    }
    return VKF_SUCCESS;
}

VkfResult checkReserved(const VkfTensor& tensor, const char* name, VkfMessage* message) {
    return isZero(tensor.reserved2)
               ? VKF_SUCCESS
               : fail(message, VKF_ERROR_INVALID_ARGUMENT, "a reserved field of %s is not zero", name);
}

VkfResult checkReservedFields(const VkfProblem& p, VkfMessage* message) {
    const struct {
        bool zero;
        const char* name;
    } structs[] = {
        {p.reserved == 0 && p.reserved2 == 0, "problem"},
        {p.window.reserved == 0 && isZero(p.window.reserved2), "window"},
        {p.bias.reserved2 == 0, "bias"},
        {p.mask.reserved2 == 0, "mask"},
        {p.dropoutMask.reserved2 == 0, "dropoutMask"},
        {p.blockMask.reserved == 0 && isZero(p.blockMask.reserved2), "blockMask"},
        {p.paging.reserved == 0 && isZero(p.paging.reserved2), "paging"},
        {p.dropout.reserved == 0 && isZero(p.dropout.reserved2), "dropout"},
        {isZero(p.positions.reserved2), "positions"},
        {p.chosenKeys.reserved == 0 && isZero(p.chosenKeys.reserved2), "chosenKeys"},
    };
    for (const auto& member : structs) {
        if (!member.zero) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "a reserved field of %s is not zero", member.name);
        }
    }
    return VKF_SUCCESS;
}

// Path decode takes wider heads than the other paths. AUTO can choose decode unless there is a block mask.
VkfResult checkDims(const VkfProblem& p, VkfMessage* message) {
    const bool decode = p.path == VKF_PATH_DECODE || (p.path == VKF_PATH_AUTO && !has(p, VKF_USE_BLOCK_MASK));
    const VkfPath path = decode ? VKF_PATH_DECODE : p.path == VKF_PATH_AUTO ? VKF_PATH_SCALAR : p.path;
    const bool widest = decode && p.path == VKF_PATH_AUTO;
    const struct {
        uint32_t value;
        uint32_t limit;
        const char* name;
    } dims[] = {
        {p.headDim, decode ? maxDecodeHeadDim : maxHeadDim, "headDim"},
        {p.valueDim != 0 ? p.valueDim : p.headDim, decode ? maxDecodeValueDim : maxHeadDim, "valueDim"},
    };
    if (p.headDim == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "headDim is 0; it must be at least 1");
    }
    for (const auto& dim : dims) {
        if (dim.value > dim.limit) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "%s %u is over the limit of %u on path %s%s", dim.name,
                        dim.value, dim.limit, vkfPathName(path), widest ? ", which takes the widest heads" : "");
        }
    }
    return VKF_SUCCESS;
}

VkfResult checkShape(const VkfProblem& p, VkfMessage* message) {
    const struct {
        uint32_t value;
        uint32_t limit;
        const char* name;
    } limits[] = {
        {p.batch, VKF_MAX_ROWS, "batch"},
        {p.queryHeads, VKF_MAX_HEADS, "queryHeads"},
        {p.kvHeads, VKF_MAX_HEADS, "kvHeads"},
        {p.queryRows, VKF_MAX_ROWS, "queryRows"},
        {p.keys, VKF_MAX_ROWS, "keys"},
        {p.kvSplits, VKF_MAX_SPLITS, "kvSplits"},
        {p.probabilityRowCount, VKF_MAX_ROWS, "probabilityRowCount"},
    };
    for (const auto& dimension : limits) {
        if (dimension.value > dimension.limit) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "%s %u is over the limit of %u", dimension.name,
                        dimension.value, dimension.limit);
        }
    }
    if (p.splitKeys != 0 && p.kvSplits != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "splitKeys is %u; with kvSplits, %u, it must be 0",
                    p.splitKeys, p.kvSplits);
    }
    if (p.batch == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "batch is 0; it must be at least 1");
    }
    if (p.queryHeads > 0 && p.kvHeads == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "kvHeads is 0; it must divide queryHeads, %u", p.queryHeads);
    }
    if (p.queryHeads > 0 && p.queryHeads % p.kvHeads != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "queryHeads %u is not a multiple of kvHeads %u", p.queryHeads,
                    p.kvHeads);
    }
    constexpr double mostBytes = 0x1p62; // no memory is larger, and offsets of more bytes might not fit into 64 bits
    if (has(p, VKF_USE_PROBABILITIES) &&
        static_cast<double>(p.batch) * p.queryHeads * probabilityRows(p) * p.keys * sizeof(float) > mostBytes) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "the probabilities of all heads are over 2^62 bytes");
    }
    return VKF_SUCCESS;
}

namespace {

// The paths that exist for study and comparison. AUTO never takes them.
bool isStudyPath(VkfPath path) { return path == VKF_PATH_STANDARD || path == VKF_PATH_KEY_OUTER; }

} // namespace

VkfResult checkNotBuiltYet(const VkfProblem& p, VkfMessage* message) {
    const struct {
        bool asked;
        const char* name;
    } features[] = {
        {has(p, VKF_USE_MASK) && p.path == VKF_PATH_STANDARD, "mask on path standard"},
        {has(p, VKF_USE_CU_SEQLENS) && isStudyPath(p.path),
         "packed (variable-length) sequences on paths standard and key_outer"},
        {has(p, VKF_USE_CU_SEQLENS) && has(p, VKF_USE_BLOCK_MASK),
         "packed (variable-length) sequences with a blockMask"},
        {has(p, VKF_USE_CU_SEQLENS) && has(p, VKF_USE_PROBABILITIES),
         "probabilities of packed (variable-length) sequences"},
        {has(p, VKF_USE_DOCUMENT_IDS) && p.path == VKF_PATH_STANDARD, "documents on path standard"},
        {has(p, VKF_USE_BLOCK_TABLE) && isStudyPath(p.path), "paging on paths standard and key_outer"},
        {has(p, VKF_USE_BLOCK_TABLE) && has(p, VKF_USE_BLOCK_MASK), "paging with a blockMask"},
        {(isBlockType(p.k.type) || isBlockType(p.v.type)) && isStudyPath(p.path),
         "k or v of a block type on paths standard and key_outer"},
        {has(p, VKF_USE_BLOCK_MASK) && p.path == VKF_PATH_STANDARD, "blockMask on path standard"},
        {has(p, VKF_USE_BLOCK_MASK) && p.path == VKF_PATH_DECODE, "blockMask on path decode"},
        {p.kvSplits > 1 && isStudyPath(p.path), "kvSplits over 1 on paths standard and key_outer"},
        {p.splitKeys != 0 && (isStudyPath(p.path) || p.path == VKF_PATH_WGMMA),
         "splitKeys on paths standard, key_outer and wgmma"},
        {has(p, VKF_USE_WINDOW) && p.window.firstKeys != 0 && p.path == VKF_PATH_STANDARD,
         "window.firstKeys on path standard"},
        {has(p, VKF_USE_POSITIONS) && p.path == VKF_PATH_WGMMA, "positions on path wgmma"},
        {has(p, VKF_USE_POSITIONS) && has(p, VKF_USE_DOCUMENT_IDS), "positions with documents"},
        {has(p, VKF_USE_POSITIONS) && has(p, VKF_USE_FUNCTIONS), "positions with functions"},
        {has(p, VKF_USE_POSITIONS) && has(p, VKF_USE_WINDOW) && p.window.firstKeys != 0,
         "positions with window.firstKeys"},
        {has(p, VKF_USE_CHOSEN_KEYS) && (isStudyPath(p.path) || p.path == VKF_PATH_WGMMA),
         "chosenKeys on paths standard, key_outer and wgmma"},
        {has(p, VKF_USE_CHOSEN_KEYS) && has(p, VKF_USE_BLOCK_MASK), "chosenKeys with a blockMask"},
        {has(p, VKF_USE_CHOSEN_KEYS) && has(p, VKF_USE_PROBABILITIES), "probabilities of chosenKeys"},
    };
    for (const auto& feature : features) {
        if (feature.asked) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "%s is not in this version", feature.name);
        }
    }
    return VKF_SUCCESS;
}

} // namespace vkf
