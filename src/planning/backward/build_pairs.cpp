// SPDX-License-Identifier: MIT
//
// The phases that compute scores again.
#include "planning/backward/backward_phases.hpp"

#include <algorithm>

#include "tiles/kernel_tile.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

// The most rows of a head that may see a tile of `tileKeys` keys.
double maxSeeingRows(const CheckedProblem& problem, uint32_t tileKeys) {
    const double rows = longestRowsOf(problem.fields);
    const bool narrow = problem.windowLeft >= 0 && problem.windowRight >= 0 && problem.firstKeys() == 0;
    return narrow ? std::min(rows, static_cast<double>(problem.windowLeft) + static_cast<double>(problem.windowRight) +
                                       1.0 + tileKeys)
                  : rows;
}

} // namespace

template <KernelTile Tile>
VkfResult buildRows(const BackwardPhaseBuilder& builder, const Tile& tile, TileSequences* tileSequences, Phase* phase,
                    VkfMessage* message) {
    const VkfProblem& p = builder.forward().fields;
    if (const VkfResult result = builder.requireTile(tile.workgroupSize(), message); result != VKF_SUCCESS) {
        return result;
    }
    const uint64_t tiles = tilesOfRows(builder.forward(), 1, tile.rows());
    if (has(p, VKF_USE_CU_SEQLENS)) {
        *tileSequences = {static_cast<uint32_t>(tiles), 1, tile.rows()};
    }
    const double operations =
        2.0 * tile.rows() * maxVisibleKeys(builder.forward(), tile.rows()) * (2.0 * p.headDim + p.valueDim);
    return builder.makePairs(tile, tiles * builder.heads(), operations, phase, message);
}

template <KernelTile Tile>
VkfResult buildKeys(const BackwardPhaseBuilder& builder, const Tile& tile, TileSequences* tileSequences, Phase* phase,
                    VkfMessage* message) {
    if (const VkfResult result = builder.requireTile(tile.workgroupSize(), message); result != VKF_SUCCESS) {
        return result;
    }
    const VkfProblem& p = builder.forward().fields;
    const bool packed = has(p, VKF_USE_CU_SEQLENS);
    const uint64_t tiles = packed ? uint64_t{p.keys} / tile.keys() + p.batch : tilesOf(p.keys, tile.keys());
    if (packed) {
        *tileSequences = {static_cast<uint32_t>(tiles), 1, tile.keys()};
    }
    const double columns = p.headDim + (tile.needsDp() ? p.valueDim : 0.0) + (tile.makesDqOrDk() ? p.headDim : 0.0) +
                           (tile.makesDv() ? p.valueDim : 0.0);
    const uint32_t heads = p.queryHeads / p.kvHeads;
    const double operations = 2.0 * tile.keys() * maxSeeingRows(builder.forward(), tile.keys()) * heads * columns;
    return builder.makePairs(tile, tiles * tensorSequences(p) * p.kvHeads, operations, phase, message);
}

template VkfResult buildRows(const BackwardPhaseBuilder&, const BackwardTile&, TileSequences*, Phase*, VkfMessage*);
template VkfResult buildRows(const BackwardPhaseBuilder&, const BackwardMatrixTile&, TileSequences*, Phase*,
                             VkfMessage*);
template VkfResult buildRows(const BackwardPhaseBuilder&, const BackwardWgmmaTile&, TileSequences*, Phase*,
                             VkfMessage*);
template VkfResult buildKeys(const BackwardPhaseBuilder&, const BackwardWgmmaTile&, TileSequences*, Phase*,
                             VkfMessage*);
template VkfResult buildKeys(const BackwardPhaseBuilder&, const BackwardTile&, TileSequences*, Phase*, VkfMessage*);
template VkfResult buildKeys(const BackwardPhaseBuilder&, const BackwardMatrixTile&, TileSequences*, Phase*,
                             VkfMessage*);

} // namespace vkf
