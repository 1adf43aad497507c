// SPDX-License-Identifier: MIT
#include "problem/append_problem.hpp"

#include <algorithm>
#include <cmath>

#include "base/message.hpp"
#include "base/versioned.hpp"
#include "problem/cache.hpp"
#include "problem/cache_tensor.hpp"
#include "problem/checks.hpp"
#include "shared/append_params.h"

namespace vkf {
namespace {

VkfResult checkRotary(const VkfAppendProblem& p, VkfMessage* message) {
    const VkfRotary& rotary = p.rotary;
    if (rotary.pairs < VKF_ROTARY_OFF || rotary.pairs > VKF_ROTARY_INTERLEAVED) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "rotary.pairs is %d; it must be 0 to %d", rotary.pairs,
                    VKF_ROTARY_INTERLEAVED);
    }
    if (rotary.pairs == VKF_ROTARY_OFF) {
        return p.queryHeads == 0
                   ? VKF_SUCCESS
                   : fail(message, VKF_ERROR_INVALID_ARGUMENT,
                          "queryHeads is %u, but rotary.pairs is 0: there is nothing to do with q", p.queryHeads);
    }
    if (rotary.dim % 2 != 0 || rotary.dim > p.headDim) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "rotary.dim is %u; it must be even and at most headDim, %u",
                    rotary.dim, p.headDim);
    }
    if (!std::isfinite(rotary.base) || rotary.base <= 1.0F) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "rotary.base is %g; it must be finite and over 1",
                    static_cast<double>(rotary.base));
    }
    return VKF_SUCCESS;
}

VkfResult checkShape(const VkfAppendProblem& p, VkfMessage* message) {
    const struct {
        uint64_t value;
        uint64_t least;
        uint64_t most;
        const char* name;
    } ranges[] = {
        {p.kvHeads, 1, VKF_MAX_HEADS, "kvHeads"},
        {p.queryHeads, 0, VKF_MAX_HEADS, "queryHeads"},
        {p.rows, 1, VKF_MAX_ROWS, "rows"},
        {p.keys, 0, VKF_MAX_ROWS, "keys"},
        {p.headDim, 1, VKF_MAX_APPEND_DIM, "headDim"},
        {p.valueDim, 1, VKF_MAX_APPEND_DIM, "valueDim"},
        {p.batch, 0, 65535, "batch"},
        {uint64_t{p.batch} * std::max(p.kvHeads, p.queryHeads), 0, VKF_MAX_ROWS, "batch * heads"},
        {uint64_t{p.batch} * std::max(p.kvHeads, p.queryHeads) * p.rows, 0, VKF_MAX_ROWS, "batch * heads * rows"},
    };
    for (const auto& range : ranges) {
        if (range.value < range.least || range.value > range.most) {
            return fail(message, range.value < range.least ? VKF_ERROR_INVALID_ARGUMENT : VKF_ERROR_UNSUPPORTED,
                        "%s is %llu; it must be %llu to %llu", range.name, static_cast<unsigned long long>(range.value),
                        static_cast<unsigned long long>(range.least), static_cast<unsigned long long>(range.most));
        }
    }
    return p.reserved == 0 ? VKF_SUCCESS : fail(message, VKF_ERROR_INVALID_ARGUMENT, "a reserved field is not zero");
}

VkfResult checkPages(const VkfAppendProblem& p, VkfMessage* message) {
    const VkfResult result = checkBoolean(p.paging.enabled, "paging.enabled", message);
    return result == VKF_SUCCESS ? checkPaging(p.paging, p.keys, message) : result;
}

// Shape of a tensor that strides are filled in for.
VkfTensorLayout shapeOf(uint32_t batch, uint32_t heads, uint32_t rows, uint32_t dim) {
    VkfTensorLayout layout{};
    layout.batch = batch;
    layout.heads = heads;
    layout.rows = rows;
    layout.dim = dim;
    return layout;
}

VkfResult layOutAll(const VkfAppendProblem& p, VkfAppendLayout* layout, VkfMessage* message) {
    const bool paged = p.paging.enabled != 0;
    const uint32_t cacheBatch = paged ? (p.keys == 0 ? 0 : p.paging.pages) : p.batch;
    const uint32_t cacheRows = paged ? p.paging.pageSize : p.keys;
    const struct {
        const char* name;
        const VkfTensor* tensor;
        TensorUse use;
        VkfTensorLayout shape;
        VkfTensorLayout* layout;
    } tensors[] = {
        {"newK", &p.newK, TensorUse::input, shapeOf(p.batch, p.kvHeads, p.rows, p.headDim), &layout->newK},
        {"newV", &p.newV, TensorUse::input, shapeOf(p.batch, p.kvHeads, p.rows, p.valueDim), &layout->newV},
        {"k", &p.k, TensorUse::cache, shapeOf(cacheBatch, p.kvHeads, cacheRows, p.headDim), &layout->k},
        {"v", &p.v, TensorUse::cache, shapeOf(cacheBatch, p.kvHeads, cacheRows, p.valueDim), &layout->v},
        {"q", &p.q, TensorUse::input, shapeOf(p.batch, p.queryHeads, p.rows, p.headDim), &layout->q},
        {"rotatedQ", &p.rotatedQ, TensorUse::output, shapeOf(p.batch, p.queryHeads, p.rows, p.headDim),
         &layout->rotatedQ},
    };
    for (const auto& tensor : tensors) {
        *tensor.layout = tensor.shape;
        if (const VkfResult result = layOut(tensor.name, *tensor.tensor, tensor.use, tensor.layout, message);
            result != VKF_SUCCESS) {
            return result;
        }
    }
    if (p.queryHeads == 0) {
        layout->q = layout->rotatedQ = VkfTensorLayout{};
    }
    return VKF_SUCCESS;
}

} // namespace

VkfResult checkAppend(const VkfAppendProblem* given, VkfAppendProblem* problem, VkfAppendLayout* layout,
                      VkfMessage* message) {
    if (const VkfResult result = readVersioned(given, problem, "problem", message); result != VKF_SUCCESS) {
        return result;
    }
    VkfAppendProblem& p = *problem;
    p.valueDim = p.valueDim == 0 ? p.headDim : p.valueDim;
    p.rotary.dim = p.rotary.dim == 0 ? p.headDim : p.rotary.dim;
    p.rotary.base = p.rotary.base == 0.0F ? 10000.0F : p.rotary.base;
    for (const auto check : {checkShape, checkRotary, checkPages}) {
        if (const VkfResult result = check(p, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    return layOutAll(p, layout, message);
}

} // namespace vkf

VkfResult vkfCheckAppend(const VkfAppendProblem* problem, VkfMessage* message) {
    VkfAppendProblem read{};
    VkfAppendLayout layout{};
    return vkf::checkAppend(problem, &read, &layout, message);
}

VkfAppendLayout vkfAppendLayout(const VkfAppendProblem* problem) {
    VkfAppendProblem read{};
    VkfAppendLayout layout{};
    return vkf::checkAppend(problem, &read, &layout, nullptr) == VKF_SUCCESS ? layout : VkfAppendLayout{};
}
