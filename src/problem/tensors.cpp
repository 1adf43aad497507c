// SPDX-License-Identifier: MIT
#include "problem/checks.hpp"

#include <cstddef>

#include "base/message.hpp"
#include "problem/cache.hpp"
#include "problem/problem.hpp"
#include "problem/tensor_layout.hpp"

namespace vkf {
namespace {

constexpr std::array roleNames = {"q", "k", "v", "o"};

// Returns the shape of a tensor. Type and strides are 0.
VkfTensorLayout shapeOf(const VkfProblem& p, VkfTensorRole role) {
    const bool hasQueryRows = role == VKF_TENSOR_Q || role == VKF_TENSOR_O;
    const bool hasHeadDim = role == VKF_TENSOR_Q || role == VKF_TENSOR_K;
    const bool paged = !hasQueryRows && has(p, VKF_USE_BLOCK_TABLE);
    const uint32_t pages = p.keys == 0 ? 0 : p.paging.pages; // without keys the call touches no page

    VkfTensorLayout layout{};
    layout.batch = paged ? pages : tensorSequences(p);
    layout.heads = hasQueryRows ? p.queryHeads : p.kvHeads;
    layout.rows = hasQueryRows ? p.queryRows : paged ? p.paging.pageSize : p.keys;
    layout.dim = hasHeadDim || p.valueDim == 0 ? p.headDim : p.valueDim;
    return layout;
}

VkfResult checkTensor(const VkfTensor& tensor, VkfTensorRole role, VkfTensorLayout* layout, VkfMessage* message) {
    const char* name = roleNames[static_cast<size_t>(role)];
    if (tensor.type < 0 || tensor.type > VKF_TYPE_F8_E5M2) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "type of %s is %d, which is not a VkfType", name, tensor.type);
    }
    const bool mayHaveBlocks = role == VKF_TENSOR_K || role == VKF_TENSOR_V;
    if (vkfTypeBytes(tensor.type) == 0 && !(mayHaveBlocks && isBlockType(tensor.type))) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "type of %s is %d (%s); this version takes f32, f16, bf16%s", name,
                    tensor.type, vkfTypeName(tensor.type), mayHaveBlocks ? blockTypeNames : "");
    }
    if (isBlockType(tensor.type)) {
        if (const VkfResult result = checkBlocks(name, *layout, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    if (const VkfResult result = checkReserved(tensor, name, message); result != VKF_SUCCESS) {
        return result;
    }
    if (const VkfResult result = checkScales(tensor, name, mayHaveBlocks ? layout->heads : 0, message);
        result != VKF_SUCCESS) {
        return result;
    }
    if (!reach(*layout, &layout->elements)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "the strides of %s reach past 2^62 - 1 elements", name);
    }
    if (role == VKF_TENSOR_O && layout->elements != 0 && !isInjective(*layout)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                    "the strides of o make elements overlap (batch %llu, head %llu, row %llu)",
                    static_cast<unsigned long long>(layout->batchStride),
                    static_cast<unsigned long long>(layout->headStride),
                    static_cast<unsigned long long>(layout->rowStride));
    }
    return VKF_SUCCESS;
}

} // namespace

VkfResult layOutTensors(const VkfProblem& p, Layouts* layouts, VkfMessage* message) {
    const std::array<const VkfTensor*, 4> tensors = {&p.q, &p.k, &p.v, &p.o};
    for (size_t i = 0; i < tensors.size(); i++) {
        const auto role = static_cast<VkfTensorRole>(i);
        VkfTensorLayout& layout = (*layouts)[i];
        layout = shapeOf(p, role);
        setStrides(*tensors[i], &layout);
        if (has(p, VKF_USE_CU_SEQLENS) && layout.batch <= 1) {
            layout.batchStride = 0; // ignored: it leads nowhere
        }
        if (const VkfResult result = checkTensor(*tensors[i], role, &layout, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    return VKF_SUCCESS;
}

} // namespace vkf
