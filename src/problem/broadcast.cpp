// SPDX-License-Identifier: MIT
//
// Bias and boolean masks, which strides of 0 broadcast.
#include "problem/checks.hpp"

#include <utility>

#include "base/message.hpp"

namespace vkf {
namespace {

constexpr uint64_t wordBytes = sizeof(uint32_t); // in which kernels read them
constexpr double mostElements = 0x1p56;          // bits of so many have 64-bit offsets

bool isMaskType(VkfType type) { return type == VKF_TYPE_BOOL8 || type == VKF_TYPE_BOOL1; }

uint64_t lastOf(uint32_t count, uint64_t stride) { return count == 0 ? 0 : (count - 1) * stride; }

VkfResult checkReach(const VkfProblem& p, const VkfBias& bias, const char* name, VkfMessage* message) {
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

uint32_t broadcastBits(VkfType type) {
    switch (type) {
    case VKF_TYPE_F32:
        return 32;
    case VKF_TYPE_F16:
    case VKF_TYPE_BF16:
        return 16;
    case VKF_TYPE_BOOL8:
        return 8;
    case VKF_TYPE_BOOL1:
        return 1;
    default:
        return 0;
    }
}

uint64_t broadcastBytes(const VkfProblem& problem, const VkfBias& bias) {
    if (bias.enabled == 0 || problem.batch == 0 || problem.queryHeads == 0 || problem.queryRows == 0 ||
        problem.keys == 0) {
        return 0;
    }
    const uint64_t elements = lastOf(problem.batch, bias.batchStride) + lastOf(problem.queryHeads, bias.headStride) +
                              lastOf(longestRowsOf(problem), bias.rowStride) + longestKeysOf(problem);
    const uint64_t wordBits = wordBytes * 8;
    return (elements * broadcastBits(bias.type) + wordBits - 1) / wordBits * wordBytes;
}

VkfResult checkBroadcast(const VkfProblem& p, VkfMessage* message) {
    if (p.bias.enabled != 0 && (broadcastBits(p.bias.type) == 0 || isMaskType(p.bias.type))) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "type %s of bias is not in this version: f32, f16, bf16",
                    vkfTypeName(p.bias.type));
    }
    for (const auto& [mask, name] : {std::pair{&p.mask, "mask"}, std::pair{&p.dropoutMask, "dropoutMask"}}) {
        if (mask->enabled != 0 && !isMaskType(mask->type)) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "type %s of %s is not in this version: bool8, bool1",
                        vkfTypeName(mask->type), name);
        }
    }
    for (const auto& [bias, name] :
         {std::pair{&p.bias, "bias"}, std::pair{&p.mask, "mask"}, std::pair{&p.dropoutMask, "dropoutMask"}}) {
        if (bias->enabled == 0) {
            continue;
        }
        if (const VkfResult result = checkReach(p, *bias, name, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    return VKF_SUCCESS;
}

} // namespace vkf
