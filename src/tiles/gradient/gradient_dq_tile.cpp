// SPDX-License-Identifier: MIT
#include "tiles/gradient/gradient_dq_tile.hpp"

#include <algorithm>
#include <array>

#include "shared/gradient_params.h"
#include "shared/tile_memory.h"
#include "tiles/kernel_tile.hpp"
#include "tiles/objections.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

constexpr uint32_t wordBytes = 16;
// More registers than this spill where an invocation has 255, as in gradient_matrix_tile.cpp.
constexpr uint32_t mostRegisters = 232;

struct Candidate {
    uint32_t subgroups;
    uint32_t ownedTiles;
    uint32_t steps;
    uint32_t depthSubgroups;
    uint32_t mostDim;
};

// Best first. 256 rows read k half as often as 128. The sums of a subgroup fill 128 registers.
constexpr std::array candidates = {
    Candidate{4, 4, 2, 1, 64},  Candidate{8, 2, 2, 1, 128}, Candidate{8, 2, 2, 2, 256},
    Candidate{4, 2, 1, 2, 256}, Candidate{2, 1, 1, 1, 256}, Candidate{1, 1, 1, 1, 256},
};

} // namespace

uint32_t GradientDqTile::columns() const {
    return VKF_GRADIENT_SHARE(headDim, layout.columns, depthSubgroups) * depthSubgroups * layout.columns;
}

uint32_t GradientDqTile::sharedBytes() const {
    const uint32_t keyRow = VKF_GRADIENT_MATRIX_ROW_WORDS(headDim, layout.columns, depthSubgroups);
    const uint32_t output = subgroups * layout.rows * layout.columns / 4;
    return VKF_MAX_WORDS(VKF_DQ_STEP_WORDS(keys(), rows(), keyRow), output) * wordBytes;
}

uint32_t GradientDqTile::registers() const {
    const auto fetches = [this](uint32_t words) { return (keys() * words + workgroupSize() - 1) / workgroupSize(); };
    const uint32_t operand = layout.rows * layout.depth / layout.lanes / 2;
    const uint32_t columnTiles = VKF_GRADIENT_SHARE(headDim, layout.columns, depthSubgroups);
    return ownedTiles * (columnTiles * layout.elements() + operand) +
           4 * (fetches(rows() / 8) + fetches((headDim + 7) / 8));
}

std::string GradientDqTile::text(uint32_t /*splits*/) const {
    return tileText(TunedGradientTile{subgroups, ownedTiles, steps, 1, depthSubgroups});
}

GradientDqTile chooseGradientDqTile(const Caps& caps, const MatrixLayout& layout, uint32_t headDim) {
    static_assert(KernelTile<GradientDqTile>);
    for (const Candidate& c : candidates) {
        const GradientDqTile tile{layout, c.subgroups, c.ownedTiles, c.steps, c.depthSubgroups, headDim};
        const Objection objection = firstOf({otherDimension(headDim, 0, c.mostDim), exceedsDevice(tile, caps),
                                             spillsRegisters(tile.registers(), mostRegisters)});
        if (objection.reason == VKF_TILE_SUITS && VKF_DS_UNIT % tile.rows() == 0) {
            return tile;
        }
    }
    return {};
}

} // namespace vkf
