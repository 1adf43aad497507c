// SPDX-License-Identifier: MIT
#include "problem/problem.hpp"

#include <cmath>
#include <cstddef>

#include "base/versioned.hpp"
#include "problem/cache.hpp"
#include "problem/checks.hpp"
#include "problem/mask_layout.hpp"

namespace vkf {
namespace {

// Of the first version, before there were block masks.
constexpr size_t firstProblemSize = offsetof(VkfProblem, blockMaskBatchStride);

VkfResult checkPages(const VkfProblem& p, VkfMessage* message) { return checkPaging(p.paging, p.keys, message); }

void fillDefaults(VkfProblem* p) {
    if (p->valueDim == 0) {
        p->valueDim = p->headDim;
    }
    if (p->scale == 0.0F) {
        p->scale = 1.0F / std::sqrt(static_cast<float>(p->headDim));
    }
}

} // namespace

VkfResult checkProblem(const VkfProblem* problem, CheckedProblem* checked, VkfMessage* message) {
    CheckedProblem c{};
    VkfProblem& p = c.given;
    if (const VkfResult result = readVersioned(problem, &p, "problem", message, firstProblemSize);
        result != VKF_SUCCESS) {
        return result;
    }
    for (const auto check : {checkBooleans, checkEnumerations, checkNumbers, checkDims, checkShape, checkSequences,
                             checkNotBuiltYet, checkBlockMask, checkBroadcast, checkPages}) {
        if (const VkfResult result = check(p, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    if (const VkfResult result = layOutTensors(p, &c.layouts, message); result != VKF_SUCCESS) {
        return result;
    }
    c.empty = c.layout(VKF_TENSOR_O).elements == 0;
    c.blockMask = blockMaskLayout(p);
    foldWindow(&c);
    fillDefaults(&p);
    *checked = c;
    return VKF_SUCCESS;
}

} // namespace vkf

VkfResult vkfCheckProblem(const VkfProblem* problem, VkfMessage* message) {
    vkf::CheckedProblem checked{};
    return vkf::checkProblem(problem, &checked, message);
}

VkfTensorLayout vkfTensorLayout(const VkfProblem* problem, VkfTensorRole role) {
    vkf::CheckedProblem checked{};
    if (role < VKF_TENSOR_Q || role > VKF_TENSOR_O || vkf::checkProblem(problem, &checked, nullptr) != VKF_SUCCESS) {
        return VkfTensorLayout{};
    }
    return checked.layout(role);
}

uint64_t vkfBroadcastBytes(const VkfProblem* problem, const VkfBroadcastArray* bias) {
    vkf::CheckedProblem checked{};
    const bool known = bias != nullptr && vkf::checkProblem(problem, &checked, nullptr) == VKF_SUCCESS;
    return known ? vkf::broadcastBytes(checked.given, *bias) : 0;
}

VkfBlockMaskLayout vkfBlockMaskLayout(const VkfProblem* problem) {
    vkf::CheckedProblem checked{};
    return vkf::checkProblem(problem, &checked, nullptr) == VKF_SUCCESS ? checked.blockMask : VkfBlockMaskLayout{};
}
