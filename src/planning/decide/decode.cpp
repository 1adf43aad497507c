// SPDX-License-Identifier: MIT
#include "planning/decide/decide_paths.hpp"

#include <algorithm>
#include <variant>

#include "device/matrix_support.hpp"
#include "planning/kernel_parameters.hpp"
#include "problem/masks/chosen_keys.hpp"
#include "tiles/decode/decode_choice.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

// Words of 4 bytes that the kernel can load at once from rows of k and v of block types.
uint32_t blockUnit(const CheckedProblem& problem) {
    constexpr uint32_t most = 2;
    const auto inPairs = [&problem](VkfTensorRole role) {
        const VkfTensorLayout& layout = problem.layout(role);
        return !isBlockType(layout.type) || inWholeWords(layout, most * blockWordBytes);
    };
    return inPairs(VKF_TENSOR_K) && inPairs(VKF_TENSOR_V) ? most : 1;
}

// Whether q, k and v are loaded in words, so that the caller aligns their addresses.
bool loadsWords(const CheckedProblem& problem) {
    return inWholeWords(problem.layout(VKF_TENSOR_Q)) && inWholeWords(problem.layout(VKF_TENSOR_K)) &&
           inWholeWords(problem.layout(VKF_TENSOR_V));
}

// Whether the kernel finds each row by counting words from the beginning of its head. NVIDIA's compiler makes 32-bit
// numbers of bytes of such an index.
bool hasNearKeys(const CheckedProblem& problem) {
    const auto isNear = [&problem](VkfTensorRole role) {
        constexpr uint64_t maxBytes = uint64_t{1} << 32;
        const VkfTensorLayout& layout = problem.layout(role);
        return byteStrides(layout).row * layout.rows <= maxBytes;
    };
    return loadsWords(problem) && !has(problem.fields, VKF_USE_BLOCK_TABLE) &&
           !has(problem.fields, VKF_USE_CHOSEN_KEYS) && isNear(VKF_TENSOR_K) && isNear(VKF_TENSOR_V);
}

DecodeProblem decodeProblem(const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    return {p.headDim,
            p.valueDim,
            p.k.type,
            p.v.type,
            uint64_t{p.queryHeads / std::max(p.kvHeads, 1U)} * rowsSharingTiles(p),
            sequencesOfTiles(p) * p.kvHeads,
            typicalVisibleKeys(problem),
            blockUnit(problem),
            hasNearKeys(problem),
            has(p, VKF_USE_CU_SEQLENS) && (p.longestRows == 0 || p.splitKeys != 0) && !hasListsByRow(p),
            has(p, VKF_USE_CHOSEN_KEYS)};
}

// Whether a kernel on matrices can take k and v: rows of the matrices' type, and rows of block types in whole words.
// The latent kernel takes only whole words, and valueDim must not be over headDim. The other kernel takes block types
// only on fp16 matrices.
bool fillsMatrices(const VkfProblem& p, bool latent, bool wholeWords) {
    const VkfType matrices = matrixType(p);
    const auto fills = [&](VkfType type) {
        return type == matrices || (isBlockType(type) && wholeWords && (latent || matrices == VKF_TYPE_F16));
    };
    return fills(p.k.type) && fills(p.v.type) && (!latent || (wholeWords && p.valueDim <= p.headDim));
}

// The latent kernel can skip the keys between the first keys and a window. The other kernel on matrices walks over one
// range of keys, and cannot. Both take a list of chosen keys.
bool takesKeys(const CheckedProblem& problem, bool latent) {
    return latent || problem.firstKeys() == 0 || has(problem.fields, VKF_USE_CHOSEN_KEYS);
}

} // namespace

VkfResult decideDecode(const TunedDevice& device, const CheckedProblem& problem, Decision* decision,
                       VkfMessage* message) {
    const Caps& caps = device.caps;
    const VkfProblem& p = problem.fields;
    const bool wholeKeys = inWholeWords(problem.layout(VKF_TENSOR_K)) && inWholeWords(problem.layout(VKF_TENSOR_V));
    const bool wholeWords = loadsWords(problem);
    const MatrixLayout layout = caps.matrixOf(matrixType(p));
    const DecodeProblem asked = decodeProblem(problem);
    const bool onMatrices = fillsMatrices(p, asked.latent(), wholeWords) && takesKeys(problem, asked.latent()) &&
                            whyNoMatrices(caps, problem) == nullptr;
    const DecodeChoice chosen = chooseDecodeTile(caps, onMatrices ? &layout : nullptr, asked, &decision->considered);
    if (std::visit([](const auto& plan) { return plan.tile.workgroupSize() == 0; }, chosen)) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "path decode: headDim %u and valueDim %u need more than the device's %u bytes of shared memory",
                    p.headDim, p.valueDim, caps.maxSharedMemoryBytes);
    }
    std::visit(
        [&](const auto& plan) {
            setTileAndSplits(problem, plan.tile, plan.splits, false, decision);
            decision->constants = tileConstants(plan.tile);
        },
        chosen);
    decision->kernel = Kernel::attentionDecode;
    if (const auto* matrix = std::get_if<DecodeMatrixPlan>(&chosen); matrix != nullptr) {
        decision->kernel = Kernel::attentionDecodeMatrix;
        setProductMatrices(caps, problem, matrix->tile.layout, decision);
    } else if (const auto* latent = std::get_if<LatentPlan>(&chosen); latent != nullptr) {
        decision->kernel = Kernel::attentionLatent;
        setProductMatrices(caps, problem, latent->tile.layout, decision);
    }
    // The kernel without matrices reads q element by element in any case.
    setWholeWords(decision->kernel == Kernel::attentionDecode ? wholeKeys : wholeWords, decision);
    return VKF_SUCCESS;
}

} // namespace vkf
