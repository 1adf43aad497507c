// SPDX-License-Identifier: MIT
#include "problem/cache_tensor.hpp"

#include "base/message.hpp"
#include "problem/cache.hpp"
#include "problem/checks.hpp"
#include "problem/problem.hpp"
#include "problem/tensor_layout.hpp"

namespace vkf {

VkfResult layOut(const char* name, const VkfTensor& tensor, TensorUse use, VkfTensorLayout* layout,
                 VkfMessage* message) {
    const bool block = use == TensorUse::cache && isBlockType(tensor.type);
    if (vkfTypeBytes(tensor.type) == 0 && !block) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "type of %s is %d (%s); this version takes f32, f16, bf16%s", name,
                    tensor.type, vkfTypeName(tensor.type),
                    use == TensorUse::cache ? ", q8_0, q4_0, q4_1, q5_0, q5_1, iq4_nl" : "");
    }
    if (const VkfResult result = checkReserved(tensor, name, message); result != VKF_SUCCESS) {
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
