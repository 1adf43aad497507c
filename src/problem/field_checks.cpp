// SPDX-License-Identifier: MIT
//
// The checks of single fields: their values, the sizes, and the features that this version has.
#include "problem/checks.hpp"

#include <cmath>

#include "base/message.hpp"
#include "problem/problem.hpp"
#include "shared/attention_params.h"

namespace vkf {

VkfResult checkBoolean(VkfBool value, const char* name, VkfMessage* message) {
    return value <= 1 ? VKF_SUCCESS
                      : fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is %u; it must be 0 or 1", name, value);
}

VkfResult checkBooleans(const VkfProblem& p, VkfMessage* message) {
    const struct {
        VkfBool value;
        const char* name;
    } booleans[] = {
        {p.causal, "causal"},
        {p.keyLengths, "keyLengths"},
        {p.lse, "lse"},
        {p.window.enabled, "window.enabled"},
        {p.bias.enabled, "bias.enabled"},
        {p.mask.enabled, "mask.enabled"},
        {p.alibi, "alibi"},
        {p.alibiCustom, "alibiCustom"},
        {p.sinks, "sinks"},
        {p.biasFactors, "biasFactors"},
        {p.packed, "packed"},
        {p.documents, "documents"},
        {p.probabilities, "probabilities"},
        {p.paging.enabled, "paging.enabled"},
        {p.dropout.deviceSeed, "dropout.deviceSeed"},
        {p.dropoutMask.enabled, "dropoutMask.enabled"},
    };
    for (const auto& boolean : booleans) {
        if (const VkfResult result = checkBoolean(boolean.value, boolean.name, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    return VKF_SUCCESS;
}

VkfResult checkEnumerations(const VkfProblem& p, VkfMessage* message) {
    const struct {
        int value;
        int last;
        const char* name;
    } enumerations[] = {
        {p.path, VKF_PATH_KEY_OUTER, "path"},
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
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "scale is not finite");
    }
    if (!std::isfinite(p.softcap) || p.softcap < 0.0F) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "softcap is %g; it must be finite and not negative",
                    static_cast<double>(p.softcap));
    }
    if (!std::isfinite(p.dropout.probability) || p.dropout.probability < 0.0F || p.dropout.probability >= 1.0F) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "dropout.probability is %g; it must be in [0, 1)",
                    static_cast<double>(p.dropout.probability));
    }
    if (p.window.enabled != 0 && (p.window.left < -1 || p.window.right < -1)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "window is (%lld, %lld); both must be -1 (unlimited) or more",
                    static_cast<long long>(p.window.left), static_cast<long long>(p.window.right));
    }
    if (p.causal != 0 && p.window.enabled != 0 && p.window.right > 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "window.right is %lld beside causal; it must be 0 or -1",
                    static_cast<long long>(p.window.right));
    }
    if (p.alibiCustom != 0 && p.alibi == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "alibiCustom is 1 without alibi");
    }
    if (p.biasFactors != 0 && p.bias.enabled == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "biasFactors is 1 without bias");
    }
    if (p.probabilityRows != 0 && p.probabilities == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "probabilityRows is %u without probabilities",
                    p.probabilityRows);
    }
    if (p.reserved != 0 || p.reserved2 != 0 || p.reserved3 != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "a reserved field is not zero");
    }
    return VKF_SUCCESS;
}

// Path decode takes wider heads than the others.
VkfResult checkDims(const VkfProblem& p, VkfMessage* message) {
    const bool decode = p.path == VKF_PATH_DECODE || (p.path == VKF_PATH_AUTO && p.maskBlock == 0);
    const VkfPath path = decode ? VKF_PATH_DECODE : p.path == VKF_PATH_AUTO ? VKF_PATH_SCALAR : p.path;
    const struct {
        uint32_t value;
        uint32_t limit;
        const char* name;
    } dims[] = {
        {p.headDim, decode ? maxDecodeHeadDim : maxHeadDim, "headDim"},
        {p.valueDim != 0 ? p.valueDim : p.headDim, decode ? maxDecodeValueDim : maxHeadDim, "valueDim"},
    };
    if (p.headDim == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "headDim is 0");
    }
    for (const auto& dim : dims) {
        if (dim.value > dim.limit) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "%s %u is over the limit of %u on path %s", dim.name, dim.value,
                        dim.limit, vkfPathName(path));
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
        {p.queryHeads, VKF_MAX_HEADS, "queryHeads"}, {p.kvHeads, VKF_MAX_HEADS, "kvHeads"},
        {p.queryRows, VKF_MAX_ROWS, "queryRows"},    {p.keys, VKF_MAX_ROWS, "keys"},
        {p.kvSplits, VKF_MAX_SPLITS, "kvSplits"},    {p.probabilityRows, VKF_MAX_ROWS, "probabilityRows"},
    };
    for (const auto& dimension : limits) {
        if (dimension.value > dimension.limit) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "%s %u is over the limit of %u", dimension.name,
                        dimension.value, dimension.limit);
        }
    }
    if (p.queryHeads > 0 && (p.kvHeads == 0 || p.queryHeads % p.kvHeads != 0)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "queryHeads %u is not a multiple of kvHeads %u", p.queryHeads,
                    p.kvHeads);
    }
    return VKF_SUCCESS;
}

namespace {

bool isStudyPath(VkfPath path) { return path == VKF_PATH_STANDARD || path == VKF_PATH_KEY_OUTER; }

} // namespace

VkfResult checkNotBuiltYet(const VkfProblem& p, VkfMessage* message) {
    const struct {
        bool asked;
        const char* name;
    } features[] = {
        {p.mask.enabled != 0 && p.path == VKF_PATH_STANDARD, "mask on path standard"},
        {p.packed != 0 && isStudyPath(p.path), "packed (variable-length) sequences on paths standard and key_outer"},
        {p.packed != 0 && p.maskBlock != 0, "packed (variable-length) sequences with a maskBlock"},
        {p.packed != 0 && p.probabilities != 0, "probabilities of packed (variable-length) sequences"},
        {p.documents != 0 && p.path == VKF_PATH_STANDARD, "documents on path standard"},
        {p.paging.enabled != 0 && isStudyPath(p.path), "paging on paths standard and key_outer"},
        {p.paging.enabled != 0 && p.maskBlock != 0, "paging with a maskBlock"},
        {(isBlockType(p.k.type) || isBlockType(p.v.type)) && isStudyPath(p.path),
         "k or v of a block type on paths standard and key_outer"},
        {p.maskBlock != 0 && p.path == VKF_PATH_STANDARD, "maskBlock on path standard"},
        {p.maskBlock != 0 && p.path == VKF_PATH_DECODE, "maskBlock on path decode"},
        {p.kvSplits > 1 && isStudyPath(p.path), "kvSplits over 1 on paths standard and key_outer"},
        {p.window.enabled != 0 && p.window.firstKeys != 0 && p.path == VKF_PATH_STANDARD,
         "window.firstKeys on path standard"},
    };
    for (const auto& feature : features) {
        if (feature.asked) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "%s is not in this version", feature.name);
        }
    }
    return VKF_SUCCESS;
}

} // namespace vkf
