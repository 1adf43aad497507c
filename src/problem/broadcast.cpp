// SPDX-License-Identifier: MIT
//
// Bias and boolean masks, which strides of 0 broadcast.
#include "problem/checks.hpp"

#include "base/message.hpp"
#include "problem/mask_layout.hpp"

namespace vkf {
namespace {

constexpr double mostElements = 0x1p56; // bits of so many have 64-bit offsets

bool isMaskType(VkfType type) { return type == VKF_TYPE_BOOL8 || type == VKF_TYPE_BOOL1; }

VkfResult checkReach(const VkfProblem& p, const VkfBroadcastArray& bias, const char* name, VkfMessage* message) {
    const struct {
        uint64_t stride;
        uint32_t count;
        const char* field;
    } strides[] = {{bias.batchStride, p.batch, "batchStride"},
                   {bias.headStride, p.queryHeads, "headStride"},
                   {bias.rowStride, longestRowsOf(p), "rowStride"}};
    for (const auto& stride : strides) {
        if (static_cast<double>(stride.stride) * stride.count > mostElements) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s.%s %llu reaches past 2^56 elements", name,
                        stride.field, static_cast<unsigned long long>(stride.stride));
        }
    }
    return VKF_SUCCESS;
}

} // namespace

VkfResult checkBroadcast(const VkfProblem& p, VkfMessage* message) {
    if (has(p, VKF_ARRAY_BIAS) && (broadcastBits(p.bias.type) == 0 || isMaskType(p.bias.type))) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "type %s of bias is not in this version: f32, f16, bf16",
                    vkfTypeName(p.bias.type));
    }
    const struct {
        VkfArrayBits bit;
        const VkfBroadcastArray& array;
        const char* name;
    } arrays[] = {{VKF_ARRAY_BIAS, p.bias, "bias"},
                  {VKF_ARRAY_MASK, p.mask, "mask"},
                  {VKF_ARRAY_DROPOUT_MASK, p.dropoutMask, "dropoutMask"}};
    for (const auto& [bit, array, name] : arrays) {
        if (!has(p, bit)) {
            continue;
        }
        if (bit != VKF_ARRAY_BIAS && !isMaskType(array.type)) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "type %s of %s is not in this version: bool8, bool1",
                        vkfTypeName(array.type), name);
        }
        if (const VkfResult result = checkReach(p, array, name, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    return VKF_SUCCESS;
}

} // namespace vkf
