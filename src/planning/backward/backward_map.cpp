// SPDX-License-Identifier: MIT
#include "planning/backward/backward_map.hpp"

#include <algorithm>
#include <numeric>

#include "planning/backward/backward_phases.hpp"
#include "planning/decide/tile_map.hpp"
#include "planning/tile_map_sizes.hpp"
#include "shared/tile_lists.h"

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
        for (const BackwardSumTile* tile : decision.bands->sums()) {
            cells.add(*tile);
        }
    }
    if (decision.bias) {
        cells.add(*decision.bias);
    }
    return cells;
}

// Bytes of the map and its lists.
uint64_t bytesOf(const CheckedProblem& forward, const BackwardDecision& decision) {
    return decision.lists.empty() ? tileMapSizes(forward, *decision.map, 1).words * mapWordBytes
                                  : decision.lists.back().begin + decision.lists.back().bytes();
}

// Makes the phase that makes lists.
VkfResult makeLists(const BackwardPhaseBuilder& builder, const TileLists& lists, Phase* phase, VkfMessage* message) {
    constexpr uint32_t workgroupSize = 128; // Vulkan guarantees this many invocations
    const TileMapChoice& map = *builder.decision().map;
    Constants constants{};
    constants[VKF_ID_WORKGROUP_SIZE] = workgroupSize;
    constants[VKF_ID_OWNER] = static_cast<uint32_t>(lists.tiles.owner);
    constants[VKF_ID_MAP_TILE_ROWS] = lists.tiles.rows;
    constants[VKF_ID_MAP_TILE_KEYS] = lists.tiles.keys;
    constants[VKF_ID_READ_ROWS] = lists.readRows;
    lists.set(&constants);
    const uint64_t cells = uint64_t{lists.tiles.rows / map.rows} * (lists.tiles.keys / map.keys);
    return builder.make(Kernel::listTiles, constants, {}, lists.lists,
                        static_cast<double>(mapPairOperations * cells * lists.tiles.most), phase, message);
}

} // namespace

void chooseBackwardMap(const CheckedBackward& backward, BackwardDecision* decision) {
    const CheckedProblem& forward = backward.forward;
    const VkfProblem& p = forward.fields;
    const Cells cells = cellsOf(*decision);
    if (!hasFunction(p, VKF_FUNCTION_KEEP) || has(p, VKF_USE_CU_SEQLENS) || cells.rows() == 0 || p.keys == 0 ||
        uint64_t{p.batch} * p.queryHeads * p.queryRows == 0) {
        return;
    }
    decision->map = mapOfMasks(p, cells.rows(), cells.keys());
    decision->lists = chooseTileLists(forward, *decision);
    const bool fit = std::all_of(decision->lists.begin(), decision->lists.end(),
                                 [](const TileLists& lists) { return lists.tiles.most <= VKF_MAX_LIST_TILES; });
    if (!fit || bytesOf(forward, *decision) > VKF_DEFAULT_BACKWARD_SCRATCH_BYTES) {
        decision->map = {};
        decision->lists.clear();
    }
}

VkfResult buildMap(const BackwardPhaseBuilder& builder, BackwardPlan* plan, BackwardPhases* phases,
                   VkfMessage* message) {
    if (!builder.decision().map) {
        return VKF_SUCCESS;
    }
    const TileMapChoice& map = *builder.decision().map;
    const TileMapSizes sizes = tileMapSizes(builder.forward(), map, 1);
    plan->tileMapBytes = bytesOf(builder.forward(), *plan);
    plan->scratch.reserve(ScratchRange::tileMap, plan->tileMapBytes);
    Constants constants{};
    constants[VKF_ID_WORKGROUP_SIZE] = std::min(mapWorkgroupSize, builder.caps().maxInvocations);
    constants[VKF_ID_MAP_TILE_ROWS] = map.rows;
    constants[VKF_ID_MAP_TILE_KEYS] = map.keys;
    Phase& phase = phases->tileMap.emplace();
    VkfResult result =
        builder.make(Kernel::mapTiles, constants, {}, sizes.words,
                     static_cast<double>(mapPairOperations * map.rows * sizes.wordKeys), &phase, message);
    phase.variant.constants[VKF_ID_BIAS] = 0; // the map looks at masks alone
    for (const TileLists& lists : builder.decision().lists) {
        if (result == VKF_SUCCESS) {
            result = makeLists(builder, lists, &phases->tileLists.emplace_back(), message);
        }
    }
    return result;
}

} // namespace vkf
