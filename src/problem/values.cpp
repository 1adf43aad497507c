// SPDX-License-Identifier: MIT
#include "problem/checks.hpp"

#include <cmath>

#include "base/message.hpp"

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
        {p.packed, "packed"},
        {p.documents, "documents"},
        {p.weights, "weights"},
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
    if (p.alibiCustom != 0 && p.alibi == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "alibiCustom is 1 without alibi");
    }
    if (p.weightRows != 0 && p.weights == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "weightRows is %u without weights", p.weightRows);
    }
    if (p.reserved != 0 || p.reserved2 != 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "a reserved field is not zero");
    }
    return VKF_SUCCESS;
}

} // namespace vkf
