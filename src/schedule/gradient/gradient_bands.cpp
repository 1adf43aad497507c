// SPDX-License-Identifier: MIT
#include "schedule/gradient/gradient_bands.hpp"

#include <algorithm>
#include <string>

#include "schedule/gradient/band_choice.hpp"
#include "schedule/gradient/gradient_pairs.hpp"
#include "tiles/kernel_tile.hpp"

namespace vkf {
namespace {

constexpr uint32_t wordElements = 8; // of 16 bits

// The tiles of kernels that take turns, band by band. `dk` and `dv` have no workgroup unless `store` stores p.
struct BandTiles {
    GradientMatrixTile store;
    GradientSumTile dq, dk, dv;
};

// Wider heads leave all sums to others: with them, two subgroups share 16 keys, and add up their scores.
constexpr uint32_t widestFused = 128;

BandTiles bandTiles(const GradientBuilder& builder, const std::vector<GradientMatrixTile>& keyTiles,
                    const MatrixLayout& layout) {
    const VkfProblem& p = builder.forward().given;
    BandTiles tiles{keyTiles[0], {}, {}, {}};
    const auto sum = [&](GradientOwner owner, uint32_t dim) {
        return chooseGradientSumTile(builder.caps(), layout, owner, dim, tiles.store.keys());
    };
    if (std::max(p.headDim, p.valueDim) > widestFused) {
        GradientTileProblem problem = tileProblem(builder, GradientOwner::keys, false, false);
        problem.storesP = true;
        tiles.store = chooseGradientMatrixTile(builder.device(), layout, problem);
        tiles.dk = sum(GradientOwner::keys, p.headDim);
        tiles.dv = writesDv(builder) ? sum(GradientOwner::keys, p.valueDim) : GradientSumTile{};
    }
    tiles.dq = sum(GradientOwner::rows, p.headDim);
    return tiles;
}

// Whether the sums that `store` leaves to others have a tile that fits the device.
bool hasAllSums(const GradientBuilder& builder, const BandTiles& tiles) {
    return !tiles.store.storesP ||
           (tiles.dk.workgroupSize() != 0 && (!writesDv(builder) || tiles.dv.workgroupSize() != 0));
}

void setBands(const GradientBands& bands, const GradientMatrixTile& store, Phase& phase) {
    Constants& constants = phase.variant.constants;
    phase.passes = bands.passes;
    constants[VKF_ID_BAND_TILES] = bands.tiles;
    constants[VKF_ID_BAND_HEADS] = bands.heads;
    constants[VKF_ID_BAND_PAIR_ROWS] = bands.pairRows;
    constants[VKF_ID_PAIRS_BY_LANE] = !store.layout.viaShared && store.layout.elements() % wordElements == 0 ? 1 : 0;
    if (phase.variant.kernel == Kernel::backwardSums) {
        constants[VKF_ID_BAND_TILE_ROWS] = store.rows();
        constants[VKF_ID_BAND_TILE_KEYS] = store.keys();
        phase.alternates = true;
    } else {
        constants[VKF_ID_STORES_P] = store.storesP ? 1 : 0;
        phase.items = bands.passes * bands.heads * bands.tiles;
    }
}

// Adds the phase that sums over the pairs of a band.
VkfResult addSumPhase(GradientBuilder& builder, const GradientSumTile& tile, bool writesDv, const GradientBands& bands,
                      const GradientMatrixTile& store, VkfMessage* message) {
    const VkfProblem& p = builder.forward().given;
    const bool keys = tile.owner == GradientOwner::keys;
    const uint32_t heads = p.queryHeads / p.kvHeads;
    const uint32_t bandKeys = builder.schedule().bandKeys;
    const uint64_t tiles = keys ? tilesOf(bandKeys, tile.keys()) : heads * tilesOf(p.queryRows, tile.rows());
    const uint64_t visited = keys ? uint64_t{heads} * p.queryRows : std::min(bandKeys, p.keys);
    const double operations = 2.0 * tile.owned() * static_cast<double>(visited) * tile.dim;
    const VkfResult result =
        builder.addSums(tile, writesDv, uint64_t{bands.passes} * bands.heads * tiles, operations, message);
    if (result == VKF_SUCCESS) {
        setBands(bands, store, builder.lastPhase());
        builder.lastPhase().joins = keys;
    }
    return result;
}

// Adds the phases that store ds, or p and ds, and those that make sums from them.
VkfResult addBandPhases(GradientBuilder& builder, const BandTiles& tiles, const GradientBands& bands,
                        VkfMessage* message) {
    GradientSchedule& schedule = builder.schedule();
    schedule.bandKeys = bands.tiles * tiles.store.keys();
    schedule.dsOffset = schedule.reserveScratch(bands.pairBytes) + bands.margin;
    schedule.pOffset = tiles.store.storesP ? schedule.reserveScratch(bands.pairBytes) + bands.margin : 0;
    schedule.sumsOffset = schedule.reserveScratch(bands.sumBytes);
    VkfResult result = addKeyPhase(builder, tiles.store, message);
    if (result == VKF_SUCCESS) {
        setBands(bands, tiles.store, builder.lastPhase());
        builder.joinGradients();
    }
    for (const GradientSumTile* tile : {&tiles.dq, &tiles.dk, &tiles.dv}) {
        if (result == VKF_SUCCESS && tile->workgroupSize() != 0) {
            result = addSumPhase(builder, *tile, tile == &tiles.dv, bands, tiles.store, message);
        }
    }
    return result;
}

// The last phase does nothing unless the device asks for sums again.
void makeFallback(GradientBuilder& builder, bool joins) {
    builder.lastPhase().variant.constants[VKF_ID_FALLBACK] = 1;
    builder.lastPhase().joins = joins;
}

// Adds the phases that write dq, dk and dv, where ds, or p and ds, stay in scratch memory. Phases that keep them to
// themselves come last: they have to, if stored ones cannot give the sums (VKF_WANTS_FALLBACK).
VkfResult addAll(GradientBuilder& builder, const std::vector<GradientMatrixTile>& keyTiles, const BandTiles& tiles,
                 const GradientBands& bands, VkfMessage* message) {
    VkfResult result = addBandPhases(builder, tiles, bands, message);
    if (result == VKF_SUCCESS && !tiles.store.storesP && keyTiles.size() > 1) {
        result = addKeyPhase(builder, keyTiles[1], message); // dv, while the last dq is made
        builder.joinGradients();
    }
    const std::string keyTileText = builder.schedule().keyTileText;
    if (result == VKF_SUCCESS) {
        result = addRowPhase(builder, message);
        makeFallback(builder, false);
    }
    for (const GradientMatrixTile& tile : keyTiles) {
        if (result == VKF_SUCCESS && tiles.store.storesP) {
            result = addKeyPhase(builder, tile, message);
            makeFallback(builder, true);
        }
    }
    builder.schedule().keyTileText = keyTileText;
    builder.schedule().rowTileText = tiles.dq.text(1);
    return result;
}

} // namespace

VkfResult addBands(GradientBuilder& builder, const std::vector<GradientMatrixTile>& keyTiles, bool* added,
                   VkfMessage* message) {
    *added = false;
    if (!writesDq(builder) || !writesDk(builder) || keyTiles[0].workgroupSize() == 0) {
        return VKF_SUCCESS;
    }
    const BandTiles tiles = bandTiles(builder, keyTiles, builder.schedule().matrix);
    const GradientBands bands = chooseGradientBands(builder.gradient(), tiles.store, tiles.dq);
    *added = bands.heads != 0 && hasAllSums(builder, tiles);
    return *added ? addAll(builder, keyTiles, tiles, bands, message) : VKF_SUCCESS;
}

} // namespace vkf
