// SPDX-License-Identifier: MIT
#include "planning/decide/decide_paths.hpp"

#include <algorithm>

#include "device/matrix_support.hpp"
#include "planning/decide/dequantized_keys.hpp"
#include "planning/decide/tile_map.hpp"
#include "planning/kernel_parameters.hpp"
#include "tiles/coopmat_tile.hpp"
#include "tiles/scalar_tile.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

// Whether the kernel can store rows of o in words of 16 bytes. It can for fp32 and for the type of its matrices, if a
// row consists of such words, and if it knows which invocation holds which element.
bool hasWordOutput(const VkfProblem& p, VkfType stored, const MatrixLayout& layout) {
    const bool ofMatrices = !usesBf16x3(p) && stored == matrixType(p);
    return !layout.viaShared && (stored == VKF_TYPE_F32 || ofMatrices) &&
           p.valueDim * vkfTypeBytes(stored) % loadedWordBytes == 0;
}

// Whether the narrow kernel takes the problem (shaders/coopmat/attention_narrow.comp).
// On an H100 it takes 2 to 5 % less time with D = 64. It was measured for dense 16-bit k and v, without terms and
// per-key masks.
bool takesNarrow(const CheckedProblem& problem, const MatrixLayout& layout) {
    constexpr uint32_t maxColumns = 64;
    const VkfProblem& p = problem.fields;
    const bool hasTerms = p.softcap > 0.0F || has(p, VKF_USE_ALIBI) || hasNaturalScores(p);
    const bool masksElements = problem.hasPerKeyMasks() || has(p, VKF_USE_BLOCK_MASK);
    const bool dense = !isBlockType(p.k.type) && !isBlockType(p.v.type) && !has(p, VKF_USE_BLOCK_TABLE) &&
                       !has(p, VKF_USE_CHOSEN_KEYS);
    return std::max(p.headDim, p.valueDim) <= maxColumns && !layout.viaShared && !hasTerms && !masksElements && dense;
}

Kernel kernelOf(const CheckedProblem& problem, const CoopmatTile& tile) {
    return tile.bf16x3                         ? Kernel::attentionBf16x3
           : takesNarrow(problem, tile.layout) ? Kernel::attentionNarrow
                                               : Kernel::attentionCoopmat;
}

// The tile and splits that the problem would have without its bias, if tiles with the bias are parts of such a tile.
// Registers that hold no bias hold more rows: a causal mask over 8192 keys of 16 heads with D = 128 takes 0.71 of the
// time without a mask in tiles that have room for the bias. Rows to which a bias is added get the same splits. Over a
// cache they may be more than such rows need, which costs 4 % there.
std::optional<CoopmatPlan> planWithoutBias(const TunedDevice& device, const CoopmatPlan& biased, TileProblem problem) {
    problem.biasBits = 0;
    const CoopmatPlan plan = chooseCoopmatTile(device, biased.tile.layout, problem);
    const CoopmatTile& tile = plan.tile;
    const bool divides = tile.rows() % biased.tile.rows() == 0 && biased.tile.keys() % tile.keys() == 0;
    const bool busy = hasCache(device.caps, problem) ||
                      (plan.splits == biased.splits && staysBusyUnderMasks(tile, device.caps, problem));
    return divides && busy ? std::optional(plan) : std::nullopt;
}

BiasMaskTile biasMaskTile(const Caps& caps, const CoopmatTile& tile, const TileProblem& problem, bool outputWords) {
    CoopmatTile withBias = tile; // shared memory has the addresses of bias rows too
    withBias.biasBits = problem.biasBits;
    TileProblem withoutBias = problem;
    withoutBias.biasBits = 0;
    const uint32_t sharedQSlices = sharedQSlicesOf(withBias, caps, withoutBias);
    return BiasMaskTile{tile.rows(),        tile.keys(),   tile.workgroupSize(), tile.rowMatrices,
                        tile.keyMatrices(), sharedQSlices, outputWords};
}

} // namespace

CoopmatChoice chooseCoopmat(const TunedDevice& device, const CheckedProblem& problem) {
    CoopmatChoice chosen{problem, dequantizesKeys(problem), {}, {}};
    if (chosen.dequantizesKeys) {
        chosen.problem = dequantizedProblem(problem);
    }
    if (whyNotCoopmat(device.caps, chosen.problem) == nullptr) {
        chosen.plan = chooseCoopmatTile(device, coopmatMatrices(device.caps, chosen.problem.fields),
                                        tileProblem(VKF_PATH_COOPMAT, chosen.problem), &chosen.considered);
    }
    return chosen;
}

VkfResult decideCoopmat(const TunedDevice& device, const CheckedProblem& original, const CoopmatChoice& chosen,
                        Decision* decision, VkfMessage* message) {
    const Caps& caps = device.caps;
    const CheckedProblem& problem = chosen.problem;
    if (const char* whyNot = whyNotCoopmat(caps, problem); whyNot != nullptr) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "path coopmat: %s", whyNot);
    }
    const VkfProblem& p = problem.fields;
    const CoopmatTile& tile = chosen.plan.tile;
    decision->considered = chosen.considered;
    if (tile.workgroupSize() == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "path coopmat: headDim %u and valueDim %u need more than the device's %u bytes of shared memory",
                    p.headDim, p.valueDim, caps.maxSharedMemoryBytes);
    }
    std::optional<CoopmatPlan> masked;
    if (mapsBias(caps, problem)) {
        masked = planWithoutBias(device, chosen.plan, tileProblem(decision->path, problem));
    }
    const uint32_t chosenSplits = masked ? masked->splits : chosen.plan.splits;
    setTileAndSplits(problem, tile, chosenSplits, chosen.plan.tuned, decision);
    decision->kernel = kernelOf(problem, tile);
    decision->constants = tileConstants(tile);
    if (tile.bf16x3) {
        setMatrices(caps, tile.layout, bf16x3Type(caps), decision);
        decision->bf16x3 = true;
        decision->constants[VKF_ID_PARTS_ARE_BF16] = decision->matrixElements == VKF_TYPE_BF16 ? 1 : 0;
        decision->fallback = chooseScalarTile(device, tileProblem(VKF_PATH_SCALAR, problem)).tile;
    } else {
        setProductMatrices(caps, problem, tile.layout, decision);
    }
    setWholeWords(hasWholeWords(problem, tile), decision);
    const bool outputWords = hasWordOutput(p, decision->splits > 1 ? VKF_TYPE_F32 : p.o.type, tile.layout);
    decision->constants[VKF_ID_OUTPUT_WORDS] = outputWords ? 1 : 0;
    if (masked) {
        decision->biasMaskTile = biasMaskTile(caps, masked->tile, tileProblem(decision->path, problem), outputWords);
    }
    if (chosen.dequantizesKeys) {
        decision->dequantizedKeys = dequantizedKeys(original, problem, *decision);
    }
    return VKF_SUCCESS;
}

} // namespace vkf
