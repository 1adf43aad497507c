// SPDX-License-Identifier: MIT
#include "planning/backward/backward_map.hpp"

#include <algorithm>
#include <numeric>

#include "planning/backward/backward_phases.hpp"
#include "planning/decide/tile_map.hpp"
#include "planning/tile_map_sizes.hpp"

namespace vkf {
namespace {

constexpr uint32_t mapWorkgroupSize = 1024; // as many pairs at a time as possible

// The largest rows and keys that divide those of all tiles so far.
class Cells {
public:
    template <KernelTile Tile> void add(const Tile& tile) {
        if (tile.workgroupSize() != 0) {
            rows_ = std::gcd(rows_, tile.rows());
            keys_ = std::gcd(keys_, tile.keys());
        }
    }
    template <KernelTile Tile> void add(const PairTiles<Tile>& tiles) {
        if (tiles.rows) {
            add(*tiles.rows);
        }
        for (const Tile& tile : tiles.keys) {
            add(tile);
        }
    }
    uint32_t rows() const { return rows_; }
    uint32_t keys() const { return keys_; }

private:
    uint32_t rows_ = 0;
    uint32_t keys_ = 0;
};

Cells cellsOf(const BackwardDecision& decision) {
    Cells cells;
    cells.add(decision.scalar);
    cells.add(decision.coopmat);
    if (decision.bands) {
        cells.add(decision.bands->store);
        for (const BackwardSumTile* tile : {&decision.bands->dq, &decision.bands->dk, &decision.bands->dv}) {
            cells.add(*tile);
        }
    }
    if (decision.bias) {
        cells.add(*decision.bias);
    }
    return cells;
}

} // namespace

std::optional<TileMapChoice> chooseBackwardMap(const CheckedBackward& backward, const BackwardDecision& decision) {
    const CheckedProblem& forward = backward.forward;
    const VkfProblem& p = forward.fields;
    const Cells cells = cellsOf(decision);
    if (!hasFunction(p, VKF_FUNCTION_KEEP) || has(p, VKF_USE_CU_SEQLENS) || cells.rows() == 0 || p.keys == 0 ||
        uint64_t{p.batch} * p.queryHeads * p.queryRows == 0) {
        return {};
    }
    const TileMapChoice map = mapOfMasks(p, cells.rows(), cells.keys());
    const uint64_t words = tileMapSizes(forward, map, 1).words;
    return words <= VKF_DEFAULT_BACKWARD_SCRATCH_BYTES / mapWordBytes ? std::optional(map) : std::nullopt;
}

VkfResult buildMap(const BackwardPhaseBuilder& builder, BackwardPlan* plan, BackwardPhases* phases,
                   VkfMessage* message) {
    if (!builder.decision().map) {
        return VKF_SUCCESS;
    }
    const TileMapChoice& map = *builder.decision().map;
    const TileMapSizes sizes = tileMapSizes(builder.forward(), map, 1);
    plan->tileMapBytes = sizes.words * mapWordBytes;
    plan->scratch.reserve(ScratchRange::tileMap, plan->tileMapBytes);
    Constants constants{};
    constants[VKF_ID_WORKGROUP_SIZE] = std::min(mapWorkgroupSize, builder.caps().maxInvocations);
    constants[VKF_ID_MAP_TILE_ROWS] = map.rows;
    constants[VKF_ID_MAP_TILE_KEYS] = map.keys;
    Phase& phase = phases->tileMap.emplace();
    const VkfResult result =
        builder.make(Kernel::mapTiles, constants, {}, sizes.words,
                     static_cast<double>(mapPairOperations * map.rows * sizes.wordKeys), &phase, message);
    phase.variant.constants[VKF_ID_BIAS] = 0; // the map looks at masks alone
    return result;
}

} // namespace vkf
