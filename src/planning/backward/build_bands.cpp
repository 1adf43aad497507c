// SPDX-License-Identifier: MIT
//
// Bands of keys, whose ds, or p and ds, stay in scratch memory for other kernels (shaders/backward/bands.glsl).
#include "planning/backward/backward_phases.hpp"

#include <algorithm>

#include "tiles/kernel_tile.hpp"

namespace vkf {
namespace {

constexpr uint32_t wordElements = 8; // of 16 bits

bool sumsPairs(Kernel kernel) { return kernel == Kernel::backwardSums || kernel == Kernel::backwardSumsListed; }

// Divides a phase into rounds, one for each band.
void setBands(const BandChoice& chosen, Phase& phase) {
    const auto& [bands, store, dq, dk, dv] = chosen;
    Constants& constants = phase.variant.constants;
    phase.rounds = bands.rounds;
    constants[VKF_ID_BAND_TILES] = bands.tiles;
    constants[VKF_ID_BAND_HEADS] = bands.heads;
    constants[VKF_ID_BAND_SHARED_ROWS] = bands.sharedRows;
    constants[VKF_ID_PAIRS_BY_LANE] = !store.layout.viaShared && store.layout.elements() % wordElements == 0 ? 1 : 0;
    if (sumsPairs(phase.variant.kernel)) {
        constants[VKF_ID_BAND_TILE_ROWS] = store.rows();
        constants[VKF_ID_BAND_TILE_KEYS] = store.keys();
        phase.interleaved = true;
    } else {
        constants[VKF_ID_STORES_P] = store.storesP ? 1 : 0;
        phase.items = bands.rounds * bands.heads * bands.tiles;
    }
}

// Makes the phase that sums over the pairs of a band.
VkfResult makeSums(const BackwardPhaseBuilder& builder, const BackwardSumTile& tile, bool writesDv, Phase* phase,
                   VkfMessage* message) {
    const VkfProblem& p = builder.forward().fields;
    const BackwardBands& bands = builder.decision().bands->bands;
    const bool keys = tile.owner == BackwardOwner::keys;
    const uint32_t heads = p.queryHeads / p.kvHeads;
    const uint32_t bandKeys = builder.decision().bandKeys();
    const uint64_t tiles = keys ? tilesOf(bandKeys, tile.keys()) : heads * tilesOf(p.queryRows, tile.rows());
    const uint64_t visited = keys ? uint64_t{heads} * p.queryRows : std::min(bandKeys, p.keys);
    const double operations = 2.0 * tile.owned() * static_cast<double>(visited) * tile.dim;
    const VkfResult result =
        builder.makeSums(tile, writesDv, uint64_t{bands.rounds} * bands.heads * tiles, operations, phase, message);
    phase->barrierBefore = !keys; // dk and dv are computed at the same time as dq
    return result;
}

void reserve(const BandChoice& chosen, Scratch* scratch) {
    const BackwardBands& bands = chosen.bands;
    scratch->reserve(ScratchRange::storedDs, bands.storedBytes, scratchAlignment, bands.margin);
    if (chosen.store.storesP) {
        scratch->reserve(ScratchRange::storedP, bands.storedBytes, scratchAlignment, bands.margin);
    }
    scratch->reserve(ScratchRange::partialSums, bands.sumBytes);
}

} // namespace

VkfResult buildBands(const BackwardPhaseBuilder& builder, BackwardPhases* phases, Scratch* scratch,
                     VkfMessage* message) {
    const BandChoice& chosen = *builder.decision().bands;
    reserve(chosen, scratch);
    TileSequences none; // packed sequences have no bands
    Phase& store = phases->bands.emplace_back();
    if (const VkfResult result = buildKeys(builder, chosen.store, &none, &store, message); result != VKF_SUCCESS) {
        return result;
    }
    setBands(chosen, store);
    for (const BackwardSumTile* tile : chosen.sums()) {
        if (tile->workgroupSize() == 0) {
            continue;
        }
        Phase& sums = phases->bands.emplace_back();
        if (const VkfResult result = makeSums(builder, *tile, tile == &chosen.dv, &sums, message);
            result != VKF_SUCCESS) {
            return result;
        }
        setBands(chosen, sums);
    }
    return VKF_SUCCESS;
}

} // namespace vkf
