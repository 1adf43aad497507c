// SPDX-License-Identifier: MIT
//
// Checks of bias, mask and dropoutMask: the arrays whose dimensions may repeat.
#include "problem/checks.hpp"

#include <algorithm>

#include "base/message.hpp"
#include "problem/masks/mask_layout.hpp"

namespace vkf {
namespace {

constexpr double maxElements = 0x1p56; // offsets in bits fit 64 bits up to this many elements

bool isMaskType(VkfType type) { return type == VKF_TYPE_BOOL8 || type == VKF_TYPE_BOOL1; }

VkfResult checkRepeats(const VkfProblem& p, const VkfBroadcastArray& array, const char* name, VkfMessage* message) {
    const struct {
        uint32_t requested;
        uint32_t count;
        const char* field;
        const char* limit;
    } counts[] = {{array.heads, p.queryHeads, "heads", "queryHeads"}, {array.sequences, p.batch, "sequences", "batch"}};
    for (const auto& count : counts) {
        if (count.requested > std::max(count.count, 1U)) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s.%s is %u; it must be at most %s, which is %u", name,
                        count.field, count.requested, count.limit, count.count);
        }
    }
    return VKF_SUCCESS;
}

VkfResult checkReach(const VkfProblem& p, const VkfBroadcastArray& array, const char* name, VkfMessage* message) {
    const struct {
        uint64_t stride;
        uint32_t count;
        const char* field;
    } strides[] = {{array.batchStride, p.batch, "batchStride"},
                   {array.headStride, p.queryHeads, "headStride"},
                   {array.rowStride, longestRowsOf(p), "rowStride"}};
    for (const auto& stride : strides) {
        if (static_cast<double>(stride.stride) * stride.count > maxElements) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s.%s is %llu; times %u it must be at most 2^56 elements",
                        name, stride.field, static_cast<unsigned long long>(stride.stride), stride.count);
        }
    }
    return VKF_SUCCESS;
}

VkfResult checkLastKeys(const VkfProblem& p, const VkfBroadcastArray& array, const char* name, VkfMessage* message) {
    const uint32_t limit = &array == &p.mask ? VKF_MAX_ROWS : 0;
    return array.lastKeys <= limit ? VKF_SUCCESS
                                   : fail(message, VKF_ERROR_UNSUPPORTED, "%s.lastKeys %u is over the limit of %u",
                                          name, array.lastKeys, limit);
}

} // namespace

VkfResult checkBroadcast(const VkfProblem& p, VkfMessage* message) {
    if (has(p, VKF_USE_BIAS) && (broadcastBits(p.bias.type) == 0 || isMaskType(p.bias.type))) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "type of bias is %d (%s); this version takes f32, f16, bf16",
                    p.bias.type, vkfTypeName(p.bias.type));
    }
    const struct {
        VkfUseBits bit;
        const VkfBroadcastArray& array;
        const char* name;
    } arrays[] = {{VKF_USE_BIAS, p.bias, "bias"},
                  {VKF_USE_MASK, p.mask, "mask"},
                  {VKF_USE_DROPOUT_MASK, p.dropoutMask, "dropoutMask"}};
    for (const auto& [bit, array, name] : arrays) {
        if (!has(p, bit)) {
            continue;
        }
        if (bit != VKF_USE_BIAS && !isMaskType(array.type)) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "type of %s is %d (%s); this version takes bool8, bool1", name,
                        array.type, vkfTypeName(array.type));
        }
        for (const auto check : {checkRepeats, checkReach, checkLastKeys}) {
            if (const VkfResult result = check(p, array, name, message); result != VKF_SUCCESS) {
                return result;
            }
        }
    }
    return VKF_SUCCESS;
}

} // namespace vkf
