// SPDX-License-Identifier: MIT
#include "problem/backward.hpp"

#include <algorithm>
#include <array>

#include "base/message.hpp"
#include "problem/arrays.hpp"
#include "problem/cache_tensor.hpp"
#include "problem/checks.hpp"
#include "problem/first_sizes.hpp"
#include "problem/masks/mask_layout.hpp"

namespace vkf {
namespace {

constexpr VkfGradients knownGradients = 2 * VKF_GRADIENT_SINKS - 1;
constexpr VkfGradients defaultGradients = VKF_GRADIENT_Q | VKF_GRADIENT_K | VKF_GRADIENT_V;

// Checks the fields of the backward problem that do not depend on its forward problem.
VkfResult checkFields(const VkfBackwardProblem& p, VkfMessage* message) {
    if (p.reserved != 0 || !isZero(p.reserved2)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT, "a reserved field of the backward problem is not zero");
    }
    if ((p.gradients & ~knownGradients) != 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "gradients has bits 0x%x, which this version does not know",
                    p.gradients & ~knownGradients);
    }
    return checkUseBits(p.use, VKF_USE_DLSE, "a backward pass", message);
}

// Refuses forward problems that this version cannot differentiate.
VkfResult checkForward(const CheckedProblem& forward, VkfMessage* message) {
    const VkfProblem& p = forward.fields;
    if (!has(p, VKF_USE_LSE)) {
        return fail(message, VKF_ERROR_INVALID_ARGUMENT,
                    "use of the forward problem lacks VKF_USE_LSE, which the backward pass needs");
    }
    constexpr std::array paths = {VKF_PATH_AUTO, VKF_PATH_SCALAR, VKF_PATH_COOPMAT, VKF_PATH_WGMMA};
    if (std::find(paths.begin(), paths.end(), p.path) == paths.end()) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "the backward pass is not on path %s in this version; it is on scalar, coopmat and wgmma",
                    vkfPathName(p.path));
    }
    const struct {
        uint32_t value;
        const char* name;
    } dims[] = {{p.headDim, "headDim"}, {p.valueDim, "valueDim"}};
    for (const auto& dim : dims) {
        if (dim.value > maxHeadDim) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "%s %u is over the limit of %u of the backward pass", dim.name,
                        dim.value, maxHeadDim);
        }
    }
    const struct {
        bool asked;
        const char* name;
    } features[] = {
        {isBlockType(p.k.type), "k of a block type"},
        {isBlockType(p.v.type), "v of a block type"},
    };
    if (hasFunction(p, VKF_FUNCTION_SCORE) && !hasFunction(p, VKF_FUNCTION_SCORE_DERIVATIVE)) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "the functions have score without scoreDerivative, which the backward pass needs");
    }
    for (const auto& feature : features) {
        if (feature.asked) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "%s in the backward pass is not in this version", feature.name);
        }
    }
    for (const ArrayRow& row : arrayTable) {
        if (!row.backward && has(p, row.bit)) {
            return fail(message, VKF_ERROR_UNSUPPORTED, "%s in the backward pass is not in this version", row.name);
        }
    }
    return VKF_SUCCESS;
}

// Refuses a gradient whose input the forward problem lacks.
VkfResult checkWanted(const CheckedBackward& c, VkfMessage* message) {
    const struct {
        VkfGradientBits gradient;
        VkfUseBits array;
        const char* name;
    } companions[] = {{VKF_GRADIENT_BIAS, VKF_USE_BIAS, "VKF_GRADIENT_BIAS"},
                      {VKF_GRADIENT_SINKS, VKF_USE_SINKS, "VKF_GRADIENT_SINKS"}};
    for (const auto& companion : companions) {
        if (c.wants(companion.gradient) && !has(c.forward.fields, companion.array)) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "gradients has %s, but use lacks %s", companion.name,
                        vkfUseString(companion.array));
        }
    }
    return VKF_SUCCESS;
}

// Refuses parameter fields of gradients that are not wanted.
VkfResult checkParameterFields(const CheckedBackward& c, VkfMessage* message) {
    const VkfBackwardProblem& p = c.fields;
    const struct {
        VkfGradientBits gradient;
        bool zero;
        const char* field;
        const char* name;
    } parameterFields[] = {{VKF_GRADIENT_Q, isZero(p.dq), "dq", "VKF_GRADIENT_Q"},
                           {VKF_GRADIENT_K, isZero(p.dk), "dk", "VKF_GRADIENT_K"},
                           {VKF_GRADIENT_V, isZero(p.dv), "dv", "VKF_GRADIENT_V"},
                           {VKF_GRADIENT_BIAS, p.dbiasType == VKF_TYPE_F32, "dbiasType", "VKF_GRADIENT_BIAS"}};
    for (const auto& parameterField : parameterFields) {
        if (!parameterField.zero && !c.wants(parameterField.gradient)) {
            return fail(message, VKF_ERROR_INVALID_ARGUMENT, "%s is not zero, but gradients lacks %s",
                        parameterField.field, parameterField.name);
        }
    }
    return VKF_SUCCESS;
}

// Fills in the layouts of all tensors. They have the shapes of o, q, k and v.
VkfResult layOutGradients(CheckedBackward* c, VkfMessage* message) {
    const VkfBackwardProblem& p = c->fields;
    const struct {
        const char* name;
        const VkfTensor& tensor;
        TensorUse use;
        VkfTensorRole shape;
    } tensors[] = {
        {"dout", p.dout, TensorUse::input, VKF_TENSOR_O},
        {"dq", p.dq, TensorUse::output, VKF_TENSOR_Q},
        {"dk", p.dk, TensorUse::output, VKF_TENSOR_K},
        {"dv", p.dv, TensorUse::output, VKF_TENSOR_V},
    };
    for (size_t i = 0; i < c->layouts.size(); i++) {
        const VkfTensorLayout& shape = c->forward.layout(tensors[i].shape);
        VkfTensorLayout& layout = c->layouts[i];
        layout.batch = shape.batch;
        layout.heads = shape.heads;
        layout.rows = shape.rows;
        layout.dim = shape.dim;
        if (const VkfResult result = layOut(tensors[i].name, tensors[i].tensor, tensors[i].use, &layout, message);
            result != VKF_SUCCESS) {
            return result;
        }
        if (has(c->forward.fields, VKF_USE_CU_SEQLENS)) {
            layout.batchStride = 0; // ignored: it leads nowhere
        }
    }
    return VKF_SUCCESS;
}

// Checks type and strides of dbias, and fills in biasElements. A dimension with a stride of 0 is shared and adds no
// elements. In the order of the strides, each other dimension must step over all elements of those before it.
VkfResult layOutBias(CheckedBackward* c, VkfMessage* message) {
    if (!c->wants(VKF_GRADIENT_BIAS)) {
        return VKF_SUCCESS;
    }
    const VkfProblem& p = c->forward.fields;
    const VkfType type = c->fields.dbiasType;
    if (vkfTypeBytes(type) == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "dbiasType is %d (%s); this version takes f32, f16, bf16", type,
                    vkfTypeName(type));
    }
    if (p.queryHeads == 0 || p.queryRows == 0 || p.keys == 0) {
        return VKF_SUCCESS;
    }
    struct Dimension {
        uint64_t stride;
        uint32_t count;
    };
    std::array<Dimension, 3> dimensions = {{{p.bias.batchStride, repeatedCount(p.bias.sequences, p.batch)},
                                            {p.bias.headStride, repeatedCount(p.bias.heads, p.queryHeads)},
                                            {p.bias.rowStride, longestRowsOf(p)}}};
    std::sort(dimensions.begin(), dimensions.end(),
              [](const Dimension& a, const Dimension& b) { return a.stride < b.stride; });
    uint64_t covered = longestKeysOf(p);
    for (const Dimension& dimension : dimensions) {
        if (dimension.stride == 0 || dimension.count <= 1) {
            continue;
        }
        if (dimension.stride < covered) {
            return fail(message, VKF_ERROR_UNSUPPORTED,
                        "the strides of bias make elements of dbias overlap (batch %llu, head %llu, row %llu)",
                        static_cast<unsigned long long>(p.bias.batchStride),
                        static_cast<unsigned long long>(p.bias.headStride),
                        static_cast<unsigned long long>(p.bias.rowStride));
        }
        covered += dimension.stride * (dimension.count - 1);
    }
    c->biasElements = covered;
    return VKF_SUCCESS;
}

} // namespace

VkfResult checkBackward(const VkfBackwardProblem* problem, CheckedBackward* checked, VkfMessage* message) {
    CheckedBackward c{};
    VkfBackwardProblem& p = c.fields;
    VkfResult result = readVersioned(problem, &p, "problem", message);
    if (result == VKF_SUCCESS && p.forward == nullptr) {
        result = fail(message, VKF_ERROR_INVALID_ARGUMENT, "forward is null");
    }
    if (result == VKF_SUCCESS) {
        result = checkFields(p, message);
    }
    if (result == VKF_SUCCESS) {
        result = checkProblem(p.forward, &c.forward, message);
    }
    if (result == VKF_SUCCESS) {
        result = checkForward(c.forward, message);
    }
    if (result != VKF_SUCCESS) {
        return result;
    }
    p.forward = nullptr;
    p.gradients = p.gradients == 0 ? defaultGradients : p.gradients;
    for (const auto check : {checkWanted, checkParameterFields}) {
        if (result = check(c, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    for (const auto layOutSome : {layOutGradients, layOutBias}) {
        if (result = layOutSome(&c, message); result != VKF_SUCCESS) {
            return result;
        }
    }
    *checked = c;
    return VKF_SUCCESS;
}

uint64_t arrayBytes(const CheckedBackward& backward, VkfArray array) {
    const VkfProblem& p = backward.forward.fields;
    switch (array) {
    case VKF_ARRAY_DLSE:
        return has(backward.fields, VKF_USE_DLSE) ? bytesOf(arrayTable[VKF_ARRAY_LSE], p) : 0;
    case VKF_ARRAY_DBIAS:
        return backward.biasElements * vkfTypeBytes(backward.fields.dbiasType);
    case VKF_ARRAY_DSINKS:
        return backward.wants(VKF_GRADIENT_SINKS) ? p.queryHeads * sizeof(float) : 0;
    default:
        return 0;
    }
}

} // namespace vkf

VkfResult vkfCheckBackward(const VkfBackwardProblem* problem, VkfMessage* message) {
    vkf::CheckedBackward checked{};
    return vkf::checkBackward(problem, &checked, message);
}

VkfResult vkfGetBackwardTensorLayout(const VkfBackwardProblem* problem, VkfBackwardRole role, VkfTensorLayout* layout,
                                     VkfMessage* message) {
    vkf::CheckedBackward checked{};
    if (const VkfResult result = vkf::checkBackward(problem, &checked, message); result != VKF_SUCCESS) {
        return result;
    }
    if (role < VKF_BACKWARD_DOUT || role > VKF_BACKWARD_DV) {
        return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "role is %d; it must be 0 to %d", role, VKF_BACKWARD_DV);
    }
    return vkf::writeVersioned(checked.layout(role), layout, "layout", message);
}

uint64_t vkfGetBackwardArrayBytes(const VkfBackwardProblem* problem, VkfArray array) {
    vkf::CheckedBackward checked{};
    return vkf::checkBackward(problem, &checked, nullptr) == VKF_SUCCESS ? vkf::arrayBytes(checked, array) : 0;
}
