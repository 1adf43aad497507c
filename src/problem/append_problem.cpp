// SPDX-License-Identifier: MIT
#include "problem/append_problem.hpp"

#include <algorithm>
#include <cmath>

#include "base/message.hpp"
#include "problem/cache.hpp"
#include "problem/cache_tensor.hpp"
#include "problem/checks.hpp"
#include "problem/first_sizes.hpp"
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
        for (const VkfUseBits bit : {VKF_USE_QUERIES, VKF_USE_ROTARY_TABLES, VKF_USE_ROTARY_POSITIONS}) {
            if (has(p, bit)) {
                return fail(message, VKF_ERROR_INVALID_ARGUMENT, "use has %s, but rotary.pairs is 0",
                            vkfUseString(bit));
            }
        }
        return VKF_SUCCESS;
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

// Batch of the tensors of new rows. All packed rows together count as one sequence.
uint64_t newRowSequences(const VkfAppendProblem& p) { return has(p, VKF_USE_CU_SEQLENS) ? 1 : p.batch; }

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
        {p.batch, 1, 65535, "batch"},
        {newRowSequences(p) * std::max(p.kvHeads, p.queryHeads), 0, VKF_MAX_ROWS, "batch * heads"},
        {newRowSequences(p) * std::max(p.kvHeads, p.queryHeads) * p.rows, 0, VKF_MAX_ROWS, "batch * heads * rows"},
    };
    for (const auto& range : ranges) {
        if (range.value < range.least || range.value > range.most) {
            return fail(message, range.value < range.least ? VKF_ERROR_INVALID_ARGUMENT : VKF_ERROR_UNSUPPORTED,
                        "%s is %llu; it must be %llu to %llu", range.name, static_cast<unsigned long long>(range.value),
                        static_cast<unsigned long long>(range.least), static_cast<unsigned long long>(range.most));
        }
    }
    return VKF_SUCCESS;
}

VkfResult checkAppendArrays(const VkfAppendProblem& p, VkfMessage* message) {
    constexpr VkfUse allowed = VKF_USE_BLOCK_TABLE | VKF_USE_CU_SEQLENS | VKF_USE_KV_SCALES | VKF_USE_QUERIES |
                               VKF_USE_NEW_LENGTHS | VKF_USE_ROTARY_TABLES | VKF_USE_ROTARY_POSITIONS;
    if (const VkfResult result = checkUseBits(p.use, allowed, "an append", message); result != VKF_SUCCESS) {
        return result;
    }
    const struct {
        VkfUseBits array;
        bool described;
        const char* field;
    } parameterFields[] = {
        {VKF_USE_BLOCK_TABLE, !isZero(p.paging), "paging"},
        {VKF_USE_QUERIES, p.queryHeads != 0, "queryHeads"},
        {VKF_USE_ROTARY_TABLES, p.rotary.tableRows != 0, "rotary.tableRows"},
    };
    for (const auto& [array, described, field] : parameterFields) {
        if (has(p, array) != described) {
            const char* name = vkfUseString(array);
            return described
                       ? fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is not zero, but use lacks %s", field, name)
                       : fail(message, VKF_ERROR_INVALID_ARGUMENT, "use has %s, but %s is zero", name, field);
        }
    }
    if (!has(p, VKF_USE_QUERIES) && !(isZero(p.q) && isZero(p.rotatedQ))) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is not zero, but use lacks VKF_USE_QUERIES",
                    isZero(p.q) ? "rotatedQ" : "q");
    }
    if (const VkfResult result = checkScalesBit(p, message); result != VKF_SUCCESS) {
        return result;
    }
    if (p.paging.reserved != 0 || !isZero(p.paging.reserved2) || !isZero(p.rotary.reserved)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "a reserved field of %s is not zero",
                    isZero(p.rotary.reserved) ? "paging" : "rotary");
    }
    return VKF_SUCCESS;
}

VkfResult checkPages(const VkfAppendProblem& p, VkfMessage* message) {
    return has(p, VKF_USE_BLOCK_TABLE) ? checkPaging(p.paging, p.keys, message) : VKF_SUCCESS;
}

// Returns a layout with a shape only. layOut fills in the other fields.
VkfTensorLayout shapeOf(uint32_t batch, uint32_t heads, uint32_t rows, uint32_t dim) {
    VkfTensorLayout layout{};
    layout.batch = batch;
    layout.heads = heads;
    layout.rows = rows;
    layout.dim = dim;
    return layout;
}

VkfResult layOutAll(const VkfAppendProblem& p, AppendLayouts* layouts, VkfMessage* message) {
    const bool paged = has(p, VKF_USE_BLOCK_TABLE);
    const uint32_t cacheBatch = paged ? (p.keys == 0 ? 0 : p.paging.pages) : p.batch;
    const uint32_t cacheRows = paged ? p.paging.pageSize : p.keys;
    const auto batch = static_cast<uint32_t>(newRowSequences(p));
    const struct {
        const char* name;
        const VkfTensor* tensor;
        TensorUse use;
        VkfTensorLayout shape;
    } tensors[] = {
        {"newK", &p.newK, TensorUse::input, shapeOf(batch, p.kvHeads, p.rows, p.headDim)},
        {"newV", &p.newV, TensorUse::input, shapeOf(batch, p.kvHeads, p.rows, p.valueDim)},
        {"k", &p.k, TensorUse::cache, shapeOf(cacheBatch, p.kvHeads, cacheRows, p.headDim)},
        {"v", &p.v, TensorUse::cache, shapeOf(cacheBatch, p.kvHeads, cacheRows, p.valueDim)},
        {"q", &p.q, TensorUse::input, shapeOf(batch, p.queryHeads, p.rows, p.headDim)},
        {"rotatedQ", &p.rotatedQ, TensorUse::output, shapeOf(batch, p.queryHeads, p.rows, p.headDim)},
    };
    for (size_t i = 0; i < layouts->size(); i++) {
        VkfTensorLayout& layout = (*layouts)[i];
        layout = tensors[i].shape;
        if (const VkfResult result = layOut(tensors[i].name, *tensors[i].tensor, tensors[i].use, &layout, message);
            result != VKF_SUCCESS) {
            return result;
        }
    }
    if (!has(p, VKF_USE_QUERIES)) {
        (*layouts)[VKF_APPEND_Q] = (*layouts)[VKF_APPEND_ROTATED_Q] = VkfTensorLayout{};
    }
    return VKF_SUCCESS;
}

} // namespace

VkfResult checkAppend(const VkfAppendProblem* given, VkfAppendProblem* problem, AppendLayouts* layouts,
                      VkfMessage* message) {
    if (const VkfResult result = readVersioned(given, problem, "problem", message); result != VKF_SUCCESS) {
        return result;
    }
    VkfAppendProblem& p = *problem;
    if (p.rotary.pairs == VKF_ROTARY_OFF && (p.rotary.dim != 0 || p.rotary.base != 0.0F)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "rotary.%s is not zero, but rotary.pairs is 0",
                    p.rotary.dim != 0 ? "dim" : "base");
    }
    p.valueDim = p.valueDim == 0 ? p.headDim : p.valueDim;
    p.rotary.dim = p.rotary.dim == 0 ? p.headDim : p.rotary.dim;
    p.rotary.base = p.rotary.base == 0.0F ? 10000.0F : p.rotary.base;
    for (const auto check : {checkAppendArrays, checkShape, checkRotary, checkPages}) {
        if (const VkfResult result = check(p, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    return layOutAll(p, layouts, message);
}

uint64_t arrayBytes(const VkfAppendProblem& p, VkfArray array) {
    const uint64_t lengths = uint64_t{p.batch} * sizeof(int32_t);
    switch (array) {
    case VKF_ARRAY_LENGTHS:
        return lengths;
    case VKF_ARRAY_NEW_LENGTHS:
        return has(p, VKF_USE_NEW_LENGTHS) ? lengths : 0;
    case VKF_ARRAY_BLOCK_TABLE:
        return has(p, VKF_USE_BLOCK_TABLE) && p.keys != 0 ? lengths * p.paging.maxPages : 0;
    case VKF_ARRAY_CU_SEQLENS:
        return has(p, VKF_USE_CU_SEQLENS) ? lengths + sizeof(int32_t) : 0;
    case VKF_ARRAY_ROTARY_POSITIONS:
        return has(p, VKF_USE_ROTARY_POSITIONS) ? newRowSequences(p) * p.rows * sizeof(int32_t) : 0;
    case VKF_ARRAY_KV_SCALES:
        return (uint64_t{p.k.scales} + p.v.scales) * sizeof(float);
    case VKF_ARRAY_COS:
    case VKF_ARRAY_SIN:
        return uint64_t{p.rotary.tableRows} * (p.rotary.dim / 2) * sizeof(float);
    default:
        return 0;
    }
}

} // namespace vkf

VkfResult vkfCheckAppend(const VkfAppendProblem* problem, VkfMessage* message) {
    VkfAppendProblem read{};
    vkf::AppendLayouts layouts{};
    return vkf::checkAppend(problem, &read, &layouts, message);
}

uint64_t vkfGetAppendArrayBytes(const VkfAppendProblem* problem, VkfArray array) {
    VkfAppendProblem read{};
    vkf::AppendLayouts layouts{};
    return vkf::checkAppend(problem, &read, &layouts, nullptr) == VKF_SUCCESS ? vkf::arrayBytes(read, array) : 0;
}

VkfResult vkfGetAppendTensorLayout(const VkfAppendProblem* problem, VkfAppendRole role, VkfTensorLayout* layout,
                                   VkfMessage* message) {
    VkfAppendProblem read{};
    vkf::AppendLayouts layouts{};
    if (const VkfResult result = vkf::checkAppend(problem, &read, &layouts, message); result != VKF_SUCCESS) {
        return result;
    }
    if (role < VKF_APPEND_NEW_K || role > VKF_APPEND_ROTATED_Q) {
        return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "role is %d; it must be 0 to %d", role,
                         VKF_APPEND_ROTATED_Q);
    }
    return vkf::writeVersioned(layouts[static_cast<size_t>(role)], layout, "layout", message);
}
