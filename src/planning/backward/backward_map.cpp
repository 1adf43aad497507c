// SPDX-License-Identifier: MIT
#include "planning/backward/backward_map.hpp"

#include <algorithm>
#include <numeric>

#include "planning/backward/backward_phases.hpp"
#include "planning/decide/tile_map.hpp"
#include "planning/tile_map_sizes.hpp"
#include "problem/masks/mask_layout.hpp"
#include "shared/backward_params.h"
#include "tiles/tile_problem.hpp"

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

// Bytes that map_tiles.comp reads of masks and documents.
double readBytes(const CheckedProblem& forward, const TileMapChoice& map) {
    const VkfProblem& p = forward.fields;
    constexpr double bitsOfByte = 8.0;
    const TileMapSizes sizes = tileMapSizes(forward, map, 1);
    const double ofMask = static_cast<double>(sizes.maps) * visiblePairs(forward) *
                          (has(p, VKF_USE_MASK) ? broadcastBits(p.mask.type) : 0) / bitsOfByte;
    const uint64_t ofDocument = has(p, VKF_USE_DOCUMENT_IDS) ? sizeof(uint32_t) : 0;
    const double ofDocuments = static_cast<double>(sizes.words * sizes.wordKeys * ofDocument);
    return ofMask + ofDocuments;
}

// Why no kernel should visit tiles by lists, or null.
const char* whyNoLists(const Caps& caps, const CheckedProblem& forward, const BackwardDecision& decision) {
    const VkfProblem& p = forward.fields;
    if (has(p, VKF_USE_CU_SEQLENS)) {
        return "sequences are packed";
    }
    // All kernels with functions have lists. The library has few builds of other kernels with lists, because each build
    // makes it larger.
    if (!has(p, VKF_USE_FUNCTIONS) && decision.matrix.viaShared) {
        return "the element layout of the device's matrices is not known";
    }
    if (!has(p, VKF_USE_FUNCTIONS) && !caps.storage16()) {
        return "the device has no 16-bit storage";
    }
    const bool pays = mapPays(caps, backwardOperations(forward), readBytes(forward, *decision.map));
    return hasFunction(p, VKF_FUNCTION_KEEP) || pays ? nullptr : "it takes longer than it can save";
}

// Why the memory or the counts of the map and its lists are too large, or null.
const char* whyNotStored(const CheckedProblem& forward, const BackwardDecision& decision) {
    const bool fit = std::all_of(decision.lists.begin(), decision.lists.end(),
                                 [](const TileLists& lists) { return lists.tiles.most <= VKF_MAX_LIST_TILES; });
    if (!fit) {
        return "a list has too many tiles";
    }
    return bytesOf(forward, decision) > VKF_DEFAULT_BACKWARD_SCRATCH_BYTES ? "it takes too much scratch memory"
                                                                           : nullptr;
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

void chooseBackwardMap(const Caps& caps, const CheckedBackward& backward, BackwardDecision* decision) {
    const CheckedProblem& forward = backward.forward;
    const VkfProblem& p = forward.fields;
    const Cells cells = cellsOf(*decision);
    if (!forward.hasPerKeyMasks() || cells.rows() == 0 || p.keys == 0 ||
        uint64_t{p.batch} * p.queryHeads * p.queryRows == 0) {
        return;
    }
    decision->map = mapOfMasks(p, cells.rows(), cells.keys());
    decision->whyNoMap = whyNoLists(caps, forward, *decision);
    if (decision->whyNoMap == nullptr) {
        decision->lists = chooseTileLists(forward, *decision);
        decision->whyNoMap = whyNotStored(forward, *decision);
    }
    if (decision->whyNoMap != nullptr) {
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
