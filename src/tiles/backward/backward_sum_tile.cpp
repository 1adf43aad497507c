// SPDX-License-Identifier: MIT
#include "tiles/backward/backward_sum_tile.hpp"

#include <array>

#include "shared/backward_params.h"
#include "shared/tile_memory.h"
#include "tiles/kernel_tile.hpp"
#include "tiles/rejections.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

// More registers than this spill where an invocation has 255, as in backward_matrix_tile.cpp.
constexpr uint32_t maxBackwardSumRegisters = 232;

struct BackwardSumCandidate {
    uint32_t subgroups;
    uint32_t ownedMatrices;
    uint32_t steps;
    uint32_t depthSubgroups;
    uint32_t maxDim;
};

// Best first, for 16 x 16 matrices. The sums of a subgroup fill 128 registers. Two workgroups of four subgroups wait at
// different times, so they take less time than one of eight.
constexpr std::array backwardSumCandidates = {
    BackwardSumCandidate{4, 2, 2, 1, 128}, BackwardSumCandidate{8, 2, 2, 2, 256}, BackwardSumCandidate{8, 1, 2, 2, 256},
    BackwardSumCandidate{4, 1, 1, 2, 256}, BackwardSumCandidate{2, 1, 1, 2, 256}, BackwardSumCandidate{1, 1, 1, 1, 256},
};

} // namespace

uint32_t BackwardSumTile::columns() const {
    return VKF_BACKWARD_SHARE(dim, layout.columns, depthSubgroups) * depthSubgroups * layout.columns;
}

uint32_t BackwardSumTile::sharedBytes() const {
    const uint32_t row = VKF_BACKWARD_MATRIX_ROW_WORDS(dim, layout.columns, depthSubgroups);
    const uint32_t output = subgroups * VKF_SUMS_STORED_MATRICES * layout.rows * layout.columns / 4;
    const bool ownsKeys = owner == BackwardOwner::keys;
    const uint32_t step = VKF_SUMS_STEP_WORDS(ownsKeys, owned(), visited(), row);
    return VKF_MAX_WORDS(step, output) * VKF_WORD_BYTES;
}

uint32_t BackwardSumTile::registers() const {
    const uint32_t operand = layout.rows * layout.depth / layout.lanes / 2;
    const uint32_t columnMatrices = VKF_BACKWARD_SHARE(dim, layout.columns, depthSubgroups);
    const uint32_t operands = ownedMatrices * steps;
    const uint32_t fetched =
        owner == BackwardOwner::keys ? operands : (steps * owned() / layout.depth + subgroups - 1) / subgroups;
    const uint32_t words = (visited() * ((dim + 7) / 8) + workgroupSize() - 1) / workgroupSize();
    return ownedMatrices * columnMatrices * layout.elements() + operands * operand +
           2 * (fetched * operand + 4 * words);
}

std::string BackwardSumTile::text(uint32_t /*splits*/) const {
    return tileText(TunedBackwardTile{subgroups, ownedMatrices, steps, 1, depthSubgroups});
}

BackwardSumTile chooseBackwardSumTile(const Caps& caps, const MatrixLayout& layout, BackwardOwner owner, uint32_t dim,
                                      uint32_t storedKeys) {
    static_assert(KernelTile<BackwardSumTile>);
    for (const BackwardSumCandidate& c : backwardSumCandidates) {
        const BackwardSumTile tile{layout, owner, c.subgroups, c.ownedMatrices, c.steps, c.depthSubgroups, dim};
        const Rejection rejection = firstOf({otherDimension(dim, 0, c.maxDim), exceedsDevice(tile, caps),
                                             spillsRegisters(tile.registers(), maxBackwardSumRegisters)});
        if (rejection.reason == VKF_TILE_SUITS && storedKeys % tile.keys() == 0 &&
            tile.rows() <= BackwardSumTile::maxRows) {
            return tile;
        }
    }
    return {};
}

} // namespace vkf
