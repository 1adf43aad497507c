// SPDX-License-Identifier: MIT
#include "device/matrix_support.hpp"

#include <algorithm>
#include <array>

#include "base/refusal.hpp"

namespace vkf {
namespace {

// q as bf16x3 takes three registers for every two columns.
constexpr uint32_t maxBf16x3Dim = 128;

} // namespace

VkfType matrixType(const VkfProblem& problem) {
    return static_cast<VkfType>(VKF_MATRIX_TYPE(static_cast<int>(problem.q.type), static_cast<int>(problem.k.type),
                                                static_cast<int>(problem.v.type)));
}

const char* whyNoMatrices(const Caps& caps, VkfType type) {
    return firstOf(std::array{
        Refusal{(caps.features & VKF_FEATURE_COOPERATIVE_MATRIX) == 0,
                "the device or the context lacks cooperative matrices (VKF_FEATURE_COOPERATIVE_MATRIX)"},
        Refusal{type == VKF_TYPE_BF16 && (caps.features & VKF_FEATURE_BFLOAT16_MATRIX) == 0,
                "the device or the context lacks cooperative matrices of bf16 (VKF_FEATURE_BFLOAT16_MATRIX)"},
        Refusal{(caps.quirks & VKF_QUIRK_WRONG_MATRIX_LOADS) != 0,
                "the driver loads cooperative matrices wrong from shared memory"},
        Refusal{!caps.subgroupReductions(), "full subgroups of a known size with shuffles are needed"},
        Refusal{!caps.subgroupVote, "subgroup votes in compute shaders are needed"},
        Refusal{caps.matrixOf(type).rows == 0, "the device multiplies no matrices of a shape that the kernel can use"},
    });
}

const char* whyNoMatrices(const Caps& caps, const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    const VkfType type = matrixType(p);
    const auto fitsMatrices = [type](const VkfTensor& tensor) {
        return tensor.type == type || isBlockType(tensor.type);
    };
    const char* const ofProblem = firstOf(std::array{
        Refusal{p.precision == VKF_PRECISION_FP32, "precision fp32 excludes products of 16-bit types"},
        Refusal{!fitsMatrices(p.k) || !fitsMatrices(p.v),
                "k and v must both be f16 or both be bf16, as q unless q is f32; or they must be of block types"},
    });
    return ofProblem != nullptr ? ofProblem : whyNoMatrices(caps, type);
}

bool usesBf16x3(const VkfProblem& p) {
    return p.q.type == VKF_TYPE_F32 && p.k.type == VKF_TYPE_F32 && p.v.type == VKF_TYPE_F32;
}

VkfType bf16x3Type(const Caps& caps) { return (caps.quirks & VKF_QUIRK_FP16X3) != 0 ? VKF_TYPE_F16 : VKF_TYPE_BF16; }

const char* whyNotCoopmat(const Caps& caps, const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    if (has(p, VKF_USE_CHOSEN_KEYS)) {
        if (const char* whyNot = firstOf(std::array{
                Refusal{has(p, VKF_USE_ALIBI), "chosen keys are not supported with ALiBi"},
                Refusal{usesBf16x3(p), "chosen keys are not supported if q, k and v are f32"},
            });
            whyNot != nullptr) {
            return whyNot;
        }
    }
    if (!usesBf16x3(p)) {
        return whyNoMatrices(caps, problem);
    }
    if (const char* whyNot = whyNoMatrices(caps, bf16x3Type(caps)); whyNot != nullptr) {
        return whyNot;
    }
    return firstOf(std::array{
        Refusal{std::max(p.headDim, p.valueDim) > maxBf16x3Dim,
                "headDim and valueDim must be at most 128 if q, k and v are f32"},
        Refusal{has(p, VKF_USE_CU_SEQLENS), "packed sequences are not supported if q, k and v are f32"},
        Refusal{p.splitKeys != 0,
                "splitKeys is not supported if q, k and v are f32"}, // all sequences fall back together
        Refusal{coopmatMatrices(caps, p).viaShared,
                "the element layout of the matrices must be known if q, k and v are f32"},
    });
}

const MatrixLayout& coopmatMatrices(const Caps& caps, const VkfProblem& problem) {
    return caps.matrixOf(usesBf16x3(problem) ? bf16x3Type(caps) : matrixType(problem));
}

} // namespace vkf
