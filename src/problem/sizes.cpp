// SPDX-License-Identifier: MIT
#include "problem/checks.hpp"

#include "base/message.hpp"
#include "problem/problem.hpp"
#include "shared/attention_params.h"

namespace vkf {

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
        {p.kvSplits, VKF_MAX_SPLITS, "kvSplits"},    {p.weightRows, VKF_MAX_ROWS, "weightRows"},
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

} // namespace vkf
