// SPDX-License-Identifier: MIT
#include "problem/problem.hpp"

#include <cmath>
#include <cstddef>

#include "problem/arrays.hpp"
#include "problem/cache.hpp"
#include "problem/checks.hpp"
#include "problem/first_sizes.hpp"
#include "problem/masks/mask_layout.hpp"
#include "problem/score_limits.hpp"

namespace vkf {
namespace {

VkfResult checkPages(const VkfProblem& p, VkfMessage* message) {
    return has(p, VKF_USE_BLOCK_TABLE) ? checkPaging(p.paging, p.keys, message) : VKF_SUCCESS;
}

void fillDefaults(VkfProblem* p) {
    if (p->valueDim == 0) {
        p->valueDim = p->headDim;
    }
    if (p->scale == 0.0F) {
        p->scale = 1.0F / std::sqrt(static_cast<float>(p->headDim));
    }
    p->softcap = effectiveSoftcap(p->softcap, p->scale);
}

} // namespace

VkfResult checkProblem(const VkfProblem* problem, CheckedProblem* checked, VkfMessage* message) {
    CheckedProblem c{};
    VkfProblem& p = c.fields;
    if (const VkfResult result = readVersioned(problem, &p, "problem", message); result != VKF_SUCCESS) {
        return result;
    }
    for (const auto check :
         {checkUse, checkReservedFields, checkEnumerations, checkNumbers, checkDims, checkShape, checkSequences,
          checkNotBuiltYet, checkPositions, checkChosenKeys, checkBlockMask, checkBroadcast, checkPages}) {
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

VkfResult vkfGetTensorLayout(const VkfProblem* problem, VkfTensorRole role, VkfTensorLayout* layout,
                             VkfMessage* message) {
    vkf::CheckedProblem checked{};
    if (const VkfResult result = vkf::checkProblem(problem, &checked, message); result != VKF_SUCCESS) {
        return result;
    }
    if (role < VKF_TENSOR_Q || role > VKF_TENSOR_O) {
        return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "role is %d; it must be 0 to %d", role, VKF_TENSOR_O);
    }
    return vkf::writeVersioned(checked.layout(role), layout, "layout", message);
}

VkfResult vkfGetBlockMaskLayout(const VkfProblem* problem, VkfBlockMaskLayout* layout, VkfMessage* message) {
    vkf::CheckedProblem checked{};
    const VkfResult result = vkf::checkProblem(problem, &checked, message);
    return result == VKF_SUCCESS ? vkf::writeVersioned(checked.blockMask, layout, "layout", message) : result;
}

uint64_t vkfGetArrayBytes(const VkfProblem* problem, VkfArray array) {
    vkf::CheckedProblem checked{};
    const auto row = static_cast<size_t>(array); // far past the table if negative
    return row < vkf::arrayCount && vkf::checkProblem(problem, &checked, nullptr) == VKF_SUCCESS
               ? vkf::bytesOf(vkf::arrayTable[row], checked.fields)
               : 0;
}
