// SPDX-License-Identifier: MIT
//
// The phases that make the map of tiles, and the attention phases that walk over it.
#include "planning/build/build_parts.hpp"

#include <algorithm>

#include "planning/kernel_parameters.hpp"
#include "planning/tile_map_sizes.hpp"
#include "tiles/occupancy.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

constexpr uint32_t mapWorkgroup = 1024; // a mask of bytes needs as many loads in flight as possible
// An invocation has several loads of a bias in flight. Where samples decide, many small workgroups hide their latency.
// Where there are fewer workgroups than multiprocessors they are larger: each of the 16 for 2048 rows reads half a
// megabyte.
constexpr uint32_t biasWorkgroupSize = 256;
constexpr uint32_t fewBiasWorkgroupsSize = 512;

// Returns a phase whose kernel looks at the tiles of the map, with the parameters of the attention phase.
Phase mapPhase(const AttentionPhaseBuilder& builder, Kernel kernel, const Phase& attention, uint64_t items,
               uint64_t operations) {
    const CheckedProblem& problem = builder.problem();
    const TileMapChoice& map = *builder.decision().map;
    const Constants& ofAttention = attention.variant.constants;
    Phase phase;
    phase.variant.kernel = kernel;
    phase.variant.functions = kernelFunctions(kernel, problem.fields);
    Constants& constants = phase.variant.constants;
    constants = constantsOf(problem, Constants{}, ofAttention[VKF_ID_STRIDE_SHIFT], builder.decision().extraSlot);
    const bool few = kernel == Kernel::mapTiles && items < multiprocessors;
    const uint32_t ofBias = few ? fewBiasWorkgroupsSize : biasWorkgroupSize;
    constants[VKF_ID_WORKGROUP_SIZE] =
        std::min(problem.hasPerKeyMasks() ? mapWorkgroup : ofBias, builder.caps().maxInvocations);
    if (!map.readsBias) {
        constants[VKF_ID_BIAS] = 0;
    }
    constants[VKF_ID_PACKED_HEADS] = ofAttention[VKF_ID_PACKED_HEADS];
    constants[VKF_ID_TILE_MAP] = ofAttention[VKF_ID_TILE_MAP];
    constants[VKF_ID_MAP_TILE_ROWS] = map.rows;
    constants[VKF_ID_MAP_TILE_KEYS] = map.keys;
    phase.params = attention.params;
    phase.items = static_cast<uint32_t>(items);
    const uint64_t affordable = VKF_DEFAULT_STEP_OPERATIONS / operations;
    phase.itemsPerStep = static_cast<uint32_t>(std::clamp<uint64_t>(affordable, 1, builder.caps().maxGroupCount));
    return phase;
}

// Gives a phase the tile of its class of rows, where the classes have tiles of their own.
void setTileOfClass(uint32_t rowClass, const AttentionPhaseBuilder& builder, Phase* phase) {
    const Decision& decision = builder.decision();
    const BiasMaskTile& masked = *decision.biasMaskTile;
    const uint64_t rowTiles = tilesOfRows(builder.problem(), decision.packedHeads, decision.tile.rows);
    const uint64_t mapRowTiles = tilesOfRows(builder.problem(), decision.packedHeads, masked.rows);
    Constants& constants = phase->variant.constants;
    const uint32_t tilesOfMapTile = masked.rows / decision.tile.rows;
    const auto mapItems = static_cast<uint32_t>(phase->items / rowTiles * mapRowTiles);
    if (rowClass == VKF_ROWS_BIAS_MASK) {
        constants[VKF_ID_WORKGROUP_SIZE] = masked.workgroupSize;
        constants[VKF_ID_ROW_MATRICES] = masked.rowMatrices;
        constants[VKF_ID_SHARED_Q_SLICES] = masked.sharedQSlices;
        constants[VKF_ID_OUTPUT_WORDS] = masked.outputWords ? 1 : 0;
        phase->items = mapItems;
        phase->itemsPerStep = std::max(phase->itemsPerStep / tilesOfMapTile, 1U);
    } else {
        constants[VKF_ID_MAP_ROW_TILES] = tilesOfMapTile;
        phase->items = mapItems * tilesOfMapTile;
    }
    if (rowClass != VKF_ROWS_DENSE) { // dense rows do not walk over the map
        constants[VKF_ID_KEY_MATRICES] = masked.keyMatrices;
    }
}

// Returns a phase for each class of rows. They write different rows, so that they run at the same time.
std::vector<Phase> attentionOfClasses(const AttentionPhaseBuilder& builder, const Phase& attention) {
    std::vector<Phase> phases;
    for (const uint32_t rowClass : builder.decision().map->rowClasses) {
        Phase& ofClass = phases.emplace_back(attention);
        ofClass.barrierBefore = phases.size() == 1;
        ofClass.variant.constants[VKF_ID_ROW_CLASS] = rowClass;
        if (builder.decision().biasMaskTile) {
            setTileOfClass(rowClass, builder, &ofClass);
        }
    }
    return phases;
}

} // namespace

TileMapMemory buildTileMap(const AttentionPhaseBuilder& builder, AttentionPhases* phases) {
    const TileMapChoice& map = *builder.decision().map;
    Phase& attention = phases->attention.front();
    attention.variant.constants[VKF_ID_TILE_MAP] = kindOf(map);
    const TileMapSizes sizes = tileMapSizes(builder.problem(), map, builder.decision().packedHeads);
    phases->tileMap =
        mapPhase(builder, Kernel::mapTiles, attention, sizes.words, mapPairOperations * map.rows * sizes.wordKeys);
    phases->tileOrder = mapPhase(builder, Kernel::orderTiles, attention, sizes.maps, sizes.rowTiles * sizes.rowTiles);
    if (!map.rowClasses.empty()) {
        phases->tileOrder->variant.constants[VKF_ID_ROW_CLASS] =
            *std::max_element(map.rowClasses.begin(), map.rowClasses.end());
        phases->attention = attentionOfClasses(builder, attention);
    }
    const uint64_t mapBytes = sizes.words * mapWordBytes;
    return {mapBytes, mapBytes + sizes.maps * sizes.rowTiles * sizeof(uint32_t)};
}

} // namespace vkf
