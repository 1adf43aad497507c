// SPDX-License-Identifier: MIT
#include "schedule/paths.hpp"

#include <algorithm>

#include "device/matrix_support.hpp"
#include "schedule/dequantized_keys.hpp"
#include "schedule/tile_map.hpp"
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

// Whether the narrow kernel takes the problem (shaders/coopmat/attend_narrow.glsl).
// On an H100 it takes 2 to 5 % less time with D = 64. It was measured for dense 16-bit k and v, without terms and
// per-key masks.
bool takesNarrow(const CheckedProblem& problem, const MatrixLayout& layout) {
    constexpr uint32_t mostColumns = 64;
    const VkfProblem& p = problem.given;
    const bool hasTerms = p.softcap > 0.0F || has(p, VKF_USE_ALIBI) || has(p, VKF_USE_BIAS);
    const bool hasPerKeyMasks = problem.hasPerKeyMasks() || problem.firstKeys() != 0 || has(p, VKF_USE_BLOCK_MASK);
    const bool dense = !isBlockType(p.k.type) && !isBlockType(p.v.type) && !has(p, VKF_USE_BLOCK_TABLE);
    return std::max(p.headDim, p.valueDim) <= mostColumns && !layout.viaShared && !hasTerms && !hasPerKeyMasks && dense;
}

Kernel kernelOf(const CheckedProblem& problem, const CoopmatTile& tile) {
    return tile.bf16x3                         ? Kernel::attentionBf16x3
           : takesNarrow(problem, tile.layout) ? Kernel::attentionNarrow
                                               : Kernel::attentionCoopmat;
}

// The tile that the problem would have without its bias, if tiles with the bias are parts of it. Registers that hold no
// bias hold more rows: a causal mask over 8192 keys of 16 heads with D = 128 takes 0.71 of the time without a mask in
// tiles that have room for the bias.
BiasMaskTile biasMaskTile(const TunedDevice& device, const CoopmatPlan& biased, TileProblem problem, bool outputWords) {
    problem.biasBits = 0;
    const CoopmatPlan plan = chooseCoopmatTile(device, biased.tile.layout, problem);
    const CoopmatTile& tile = plan.tile;
    CoopmatTile withBias = tile; // shared memory has the addresses of bias rows too
    withBias.biasBits = biased.tile.biasBits;
    const uint32_t sharedDepths = sharedDepthsOf(withBias, device.caps, problem);
    const bool divides = tile.rows() % biased.tile.rows() == 0 && biased.tile.keys() % tile.keys() == 0;
    if (!divides || plan.splits != biased.splits || !staysBusyUnderMasks(tile, problem)) {
        return {};
    }
    return {tile.rows(),        tile.keys(),  tile.workgroupSize(), tile.rowTiles,
            tile.keyMatrices(), sharedDepths, outputWords};
}

// Adds the phase that computes all again in plain arithmetic, if the attention of fp32 numbers as bf16x3 asks for it.
VkfResult scheduleFallback(const TunedDevice& device, const CheckedProblem& problem, ScheduleBuilder& builder,
                           VkfMessage* message) {
    const ScalarTile tile = chooseScalarTile(device, tileProblem(VKF_PATH_SCALAR, problem)).tile;
    if (tile.workgroupSize() == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "path coopmat: the kernel of path scalar needs more than the "
                    "device's %u bytes of shared memory",
                    device.caps.maxSharedMemoryBytes);
    }
    builder.setPhaseTile(tile);
    const VkfResult result = builder.add(
        Kernel::attentionScalarFallback, {Operand::q, Operand::k, Operand::v, Operand::o},
        tilesOfRows(problem, 1, tile.rows()) * builder.heads(), tileOperations(problem, tile.rows()), message);
    if (result == VKF_SUCCESS) {
        builder.lastPhase().lse = has(problem.given, VKF_USE_LSE) ? Operand::lse : Operand::none;
    }
    return result;
}

} // namespace

VkfResult scheduleCoopmat(const TunedDevice& device, const CheckedProblem& given, ScheduleBuilder& builder,
                          VkfMessage* message) {
    const Caps& caps = device.caps;
    const bool dequantizes = dequantizesKeys(given);
    const CheckedProblem problem = dequantizes ? dequantizedProblem(given) : given;
    if (const char* whyNot = whyNotCoopmat(caps, problem); whyNot != nullptr) {
        return fail(message, VKF_ERROR_UNSUPPORTED, "path coopmat: %s", whyNot);
    }
    const VkfProblem& p = problem.given;
    const TileProblem tiled = tileProblem(builder.path(), problem);
    const CoopmatPlan chosen = chooseCoopmatTile(device, coopmatMatrices(caps, p), tiled, builder.considered());
    const CoopmatTile& tile = chosen.tile;
    if (tile.workgroupSize() == 0) {
        return fail(message, VKF_ERROR_UNSUPPORTED,
                    "path coopmat: headDim %u and valueDim %u need more than the device's %u bytes of shared memory",
                    p.headDim, p.valueDim, caps.maxSharedMemoryBytes);
    }
    const uint32_t splits = p.kvSplits != 0 ? p.kvSplits : chosen.splits;
    builder.setTile(tile, splits, chosen.tuned);
    const bool split = splits > 1 && !problem.empty;
    const bool outputWords = hasWordOutput(p, split ? VKF_TYPE_F32 : p.o.type, tile.layout);
    if (mapsBias(caps, problem)) {
        builder.setBiasMaskTile(biasMaskTile(device, chosen, tiled, outputWords));
    }
    builder.packHeads(packedHeads(builder.path(), problem));
    if (tile.bf16x3) {
        builder.setBf16x3Matrices(tile.layout);
    } else {
        builder.setMatrices(tile.layout);
    }
    builder.setWholeWords(hasWholeWords(problem, tile));
    builder.setOutputWords(outputWords);
    if (dequantizes) {
        builder.setDequantizedKeys(problem.layout(VKF_TENSOR_K), problem.layout(VKF_TENSOR_V));
    }
    const VkfResult result = scheduleFused(caps, kernelOf(problem, tile), splits, problem, builder, message);
    return result == VKF_SUCCESS && tile.bf16x3 && !problem.empty ? scheduleFallback(device, problem, builder, message)
                                                                  : result;
}

} // namespace vkf
