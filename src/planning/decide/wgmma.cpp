// SPDX-License-Identifier: MIT
#include "planning/decide/decide_paths.hpp"

#include <array>

#include "base/refusal.hpp"
#include "planning/decide/dequantized_keys.hpp"
#include "problem/dropout.hpp"
#include "problem/strides.hpp"
#include "tiles/tile_problem.hpp"
#include "tiles/wgmma_tile.hpp"

namespace vkf {
namespace {

const char* whyNotDevice(const TunedDevice& device) {
    if ((device.caps.features & VKF_FEATURE_BINARY_IMPORT) == 0) {
        return "the device or the context lacks VK_NVX_binary_import on a chip of compute capability 9.0 "
               "(VKF_FEATURE_BINARY_IMPORT)";
    }
    return device.noLaunches;
}

// The kernel holds the distance of a key from page 0 in 32 bits, as a number of words.
bool pagesReachFar(const CheckedProblem& problem) {
    constexpr uint64_t reach = (max32 + 1) * loadedWordBytes;
    const auto reachesFar = [&](VkfTensorRole role) {
        const VkfTensorLayout& layout = problem.layout(role);
        return vkfStoredBytes(layout.type, layout.elements) > reach;
    };
    return has(problem.fields, VKF_USE_BLOCK_TABLE) && (reachesFar(VKF_TENSOR_K) || reachesFar(VKF_TENSOR_V));
}

const char* whyNotTensors(const CheckedProblem& problem) {
    constexpr uint32_t columns = 8; // of a word of 16 bytes
    const VkfProblem& p = problem.fields;
    const bool has16Bits = p.q.type == VKF_TYPE_F16 || p.q.type == VKF_TYPE_BF16;
    const auto inWords = [&](VkfTensorRole role) { return inWholeWords(problem.layout(role)); };
    return firstOf(std::array{
        Refusal{!has16Bits || p.k.type != p.q.type || p.v.type != p.q.type,
                "q, k and v must all be f16 or all be bf16"},
        Refusal{p.headDim % columns != 0 || p.valueDim % columns != 0, "headDim and valueDim must be multiples of 8"},
        Refusal{!inWords(VKF_TENSOR_Q) || !inWords(VKF_TENSOR_K) || !inWords(VKF_TENSOR_V),
                "strides of q, k and v must be multiples of 16 bytes"},
        Refusal{pagesReachFar(problem), "pages of k or v span over 64 GiB"},
    });
}

const char* whyNotFeatures(const VkfProblem& p) {
    return firstOf(std::array{
        Refusal{p.precision == VKF_PRECISION_FP32, "precision fp32 excludes products of 16-bit types"},
        Refusal{has(p, VKF_USE_BIAS), "a bias is not in this version"},
        Refusal{has(p, VKF_USE_FUNCTIONS), "functions are not in this version"},
        Refusal{has(p, VKF_USE_POSITIONS), "positions are not in this version"},
        Refusal{p.splitKeys != 0, "splitKeys is not in this version"},
        Refusal{has(p, VKF_USE_KV_SCALES), "scales of k and v are not in this version"},
        Refusal{has(p, VKF_USE_CHOSEN_KEYS), "chosen keys are not in this version"},
        Refusal{has(p, VKF_USE_MASK), "a boolean mask is not in this version"},
        Refusal{has(p, VKF_USE_DOCUMENT_IDS), "documents are not in this version"},
        Refusal{has(p, VKF_USE_BLOCK_MASK), "a block mask is not in this version"},
        Refusal{has(p, VKF_USE_PROBABILITIES), "probabilities as an output are not in this version"},
        Refusal{hasDropout(p), "dropout is not in this version"},
    });
}

// Other block types are converted for path coopmat alone, where they were measured. Keys in pages may be absent. The
// kernel learns that from their pages, and the converted keys have none.
bool convertsFp8(const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    return isFp8(p.k.type) && isFp8(p.v.type) && p.q.type != VKF_TYPE_F32 && !has(p, VKF_USE_BLOCK_TABLE) &&
           dequantizesKeys(problem);
}

} // namespace

const char* whyNotWgmma(const TunedDevice& device, const CheckedProblem& problem) {
    if (const char* whyNot = whyNotDevice(device); whyNot != nullptr) {
        return whyNot;
    }
    const char* whyNot = whyNotFeatures(problem.fields);
    return whyNot != nullptr ? whyNot : whyNotTensors(problem);
}

WgmmaChoice chooseWgmma(const TunedDevice& device, const CheckedProblem& original) {
    WgmmaChoice chosen{original, convertsFp8(original)};
    if (chosen.dequantizesKeys) {
        chosen.problem = dequantizedProblem(original);
    }
    const CheckedProblem& problem = chosen.problem;
    chosen.whyNot = whyNotWgmma(device, problem);
    if (chosen.whyNot != nullptr) {
        return chosen;
    }
    chosen.tiled = tileProblem(VKF_PATH_WGMMA, problem);
    chosen.plan = chooseWgmmaTile(device.caps, chosen.tiled, &chosen.considered);
    if (chosen.plan.tile.workgroupSize() == 0) {
        chosen.whyNot = "its tile needs more shared memory or more invocations than the device has";
    } else if (!hasWholeWords(problem, chosen.plan.tile)) {
        chosen.whyNot = "a row stride of q, k or v is too large: offsets within a tile do not fit 32 bits";
    }
    return chosen;
}

VkfResult decideWgmma(const CheckedProblem& original, const WgmmaChoice& chosen, Decision* decision,
                      VkfMessage* message) {
    const CheckedProblem& problem = chosen.problem;
    decision->considered = chosen.considered;
    if (chosen.whyNot != nullptr) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "path wgmma: %s", chosen.whyNot);
    }
    const VkfProblem& p = problem.fields;
    setTileAndSplits(problem, chosen.plan.tile, chosen.plan.splits, false, decision);
    setWholeWords(true, decision);
    decision->kernel = Kernel::attentionWgmma;
    decision->constants[VKF_ID_WORKGROUP_SIZE] = chosen.plan.tile.workgroupSize();
    decision->matrixElements = p.q.type;
    decision->productType = p.q.type;
    if (chosen.dequantizesKeys) {
        decision->dequantizedKeys = dequantizedKeys(original, problem, *decision);
    }
    return VKF_SUCCESS;
}

} // namespace vkf
