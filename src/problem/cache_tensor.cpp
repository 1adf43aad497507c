// SPDX-License-Identifier: MIT
#include "problem/cache_tensor.hpp"

#include "base/message.hpp"
#include "problem/cache.hpp"
#include "problem/checks.hpp"
#include "problem/problem.hpp"
#include "problem/tensor_layout.hpp"

namespace vkf {

VkfResult checkScales(const VkfTensor& tensor, const char* name, uint32_t kvHeads, VkfMessage* message) {
    if (tensor.scales == 0) {
        return VKF_SUCCESS;
    }
    if (kvHeads == 0) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "scales of %s is %u; only k and v have scales", name,
                    tensor.scales);
    }
    if (!isFp8(tensor.type)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "scales of %s is %u; only types e4m3 and e5m2 have scales",
                    name, tensor.scales);
    }
    return tensor.scales == 1 || tensor.scales == kvHeads
               ? VKF_SUCCESS
               : fail(message, VKF_ERROR_INVALID_ARGUMENT, "scales of %s is %u; it must be 0, 1 or kvHeads, %u", name,
                      tensor.scales, kvHeads);
}

VkfResult layOut(const char* name, const VkfTensor& tensor, TensorUse use, VkfTensorLayout* layout,
                 VkfMessage* message) {
    const bool block = use == TensorUse::cache && isBlockType(tensor.type);
    if (vkfTypeBytes(tensor.type) == 0 && !block) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "type of %s is %d (%s); this version takes f32, f16, bf16%s", name,
                    tensor.type, vkfTypeName(tensor.type), use == TensorUse::cache ? blockTypeNames : "");
    }
    if (const VkfResult result = checkReserved(tensor, name, message); result != VKF_SUCCESS) {
        return result;
    }
    const uint32_t kvHeads = use == TensorUse::cache ? layout->heads : 0;
    if (const VkfResult result = checkScales(tensor, name, kvHeads, message); result != VKF_SUCCESS) {
        return result;
    }
    setStrides(tensor, layout);
    if (!reach(*layout, &layout->elements)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "the strides of %s reach past 2^62 - 1 elements", name);
    }
    if (block) {
        if (const VkfResult result = checkBlocks(name, *layout, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    if (use != TensorUse::input && layout->elements != 0 && !isInjective(*layout)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "the strides of %s make elements overlap", name);
    }
    return VKF_SUCCESS;
}

} // namespace vkf
