// SPDX-License-Identifier: MIT
#include "schedule/gradient/gradient_pairs.hpp"

#include <algorithm>

#include "base/message.hpp"
#include "problem/dropout.hpp"
#include "schedule/packed_sequences.hpp"
#include "tiles/kernel_tile.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

// The most rows of a head that may see a tile of so many keys.
double widestColumn(const CheckedProblem& problem, uint32_t tileKeys) {
    const double rows = longestRowsOf(problem.given);
    const bool narrow = problem.windowLeft >= 0 && problem.windowRight >= 0 && problem.firstKeys() == 0;
    return narrow ? std::min(rows, static_cast<double>(problem.windowLeft) + static_cast<double>(problem.windowRight) +
                                       1.0 + tileKeys)
                  : rows;
}

// Adds the phase that writes dq.
template <KernelTile Tile> VkfResult addRows(GradientBuilder& builder, const Tile& tile, VkfMessage* message) {
    const VkfProblem& p = builder.forward().given;
    if (const VkfResult result = requireTile(builder, tile.workgroupSize(), message); result != VKF_SUCCESS) {
        return result;
    }
    builder.schedule().rowTileText = tile.text(1);
    const uint64_t tiles = tilesOfRows(builder.forward(), 1, tile.rows());
    if (has(p, VKF_USE_CU_SEQLENS)) {
        builder.schedule().tileSequences = {static_cast<uint32_t>(tiles), 1, tile.rows(), 0};
    }
    const double operations =
        2.0 * tile.rows() * widestRow(builder.forward(), tile.rows()) * (2.0 * p.headDim + p.valueDim);
    return builder.addPairs(tile, tiles * builder.heads(), operations, message);
}

template <KernelTile Tile> VkfResult addKeys(GradientBuilder& builder, const Tile& tile, VkfMessage* message) {
    if (const VkfResult result = requireTile(builder, tile.workgroupSize(), message); result != VKF_SUCCESS) {
        return result;
    }
    const VkfProblem& p = builder.forward().given;
    std::string& shown = builder.schedule().keyTileText;
    shown += (shown.empty() ? "" : "; ") + tile.text(1);
    const bool packed = has(p, VKF_USE_CU_SEQLENS);
    const uint64_t tiles = packed ? uint64_t{p.keys} / tile.keys() + p.batch : tilesOf(p.keys, tile.keys());
    if (packed) {
        builder.schedule().keyTileSequences = {static_cast<uint32_t>(tiles), 1, tile.keys(), 0};
    }
    const double columns = p.headDim + (tile.needsDp() ? p.valueDim : 0.0) + (tile.sumsHeads() ? p.headDim : 0.0) +
                           (tile.sumsValues() ? p.valueDim : 0.0);
    const uint32_t heads = p.queryHeads / p.kvHeads;
    const double operations = 2.0 * tile.keys() * widestColumn(builder.forward(), tile.keys()) * heads * columns;
    return builder.addPairs(tile, tiles * tensorSequences(p) * p.kvHeads, operations, message);
}

// Whether a gradient is wanted and has elements.
bool writes(const GradientBuilder& builder, VkfGradientBits bit, VkfBackwardRole role) {
    const CheckedGradient& gradient = builder.gradient();
    return gradient.wants(bit) && gradient.layout(role).elements != 0;
}

} // namespace

bool writesDq(const GradientBuilder& builder) { return writes(builder, VKF_GRADIENT_Q, VKF_BACKWARD_DQ); }
bool writesDk(const GradientBuilder& builder) { return writes(builder, VKF_GRADIENT_K, VKF_BACKWARD_DK); }
bool writesDv(const GradientBuilder& builder) { return writes(builder, VKF_GRADIENT_V, VKF_BACKWARD_DV); }

const MatrixLayout* matricesOf(GradientBuilder& builder) {
    return builder.schedule().path == VKF_PATH_COOPMAT ? &builder.schedule().matrix : nullptr;
}

GradientTileProblem tileProblem(const GradientBuilder& builder, GradientOwner owner, bool sumsHeads, bool sumsValues) {
    const VkfProblem& p = builder.forward().given;
    const bool keys = owner == GradientOwner::keys;
    return {owner,
            p.headDim,
            p.valueDim,
            sumsHeads,
            sumsValues,
            keys ? typicalKeys(p) : typicalRows(p),
            uint64_t{typicalSequences(p)} * (keys ? p.kvHeads : p.queryHeads),
            hasDropout(p),
            vkf::tileProblem(VKF_PATH_COOPMAT, builder.forward())};
}

VkfResult requireTile(const GradientBuilder& builder, uint32_t workgroupSize, VkfMessage* message) {
    const VkfProblem& p = builder.forward().given;
    return workgroupSize != 0
               ? VKF_SUCCESS
               : fail(message, VKF_ERROR_UNSUPPORTED,
                      "the backward pass of headDim %u and valueDim %u needs more than the device's %u bytes of shared "
                      "memory",
                      p.headDim, p.valueDim, builder.caps().maxSharedMemoryBytes);
}

VkfResult addRowPhase(GradientBuilder& builder, VkfMessage* message) {
    if (!writesDq(builder)) {
        return VKF_SUCCESS;
    }
    const GradientTileProblem problem = tileProblem(builder, GradientOwner::rows, true, false);
    const MatrixLayout* matrices = matricesOf(builder);
    return matrices != nullptr
               ? addRows(builder, chooseGradientMatrixTile(builder.device(), *matrices, problem), message)
               : addRows(builder, chooseGradientTile(builder.caps(), problem), message);
}

VkfResult addKeyPhase(GradientBuilder& builder, const GradientTile& tile, VkfMessage* message) {
    return addKeys(builder, tile, message);
}

VkfResult addKeyPhase(GradientBuilder& builder, const GradientMatrixTile& tile, VkfMessage* message) {
    return addKeys(builder, tile, message);
}

} // namespace vkf
