// SPDX-License-Identifier: MIT
#include "schedule/gradient/gradient_bands.hpp"

#include <algorithm>
#include <string>

#include "schedule/gradient/gradient_pairs.hpp"
#include "shared/gradient_params.h"
#include "tiles/gradient/gradient_sum_tile.hpp"
#include "tiles/occupancy.hpp"

namespace vkf {
namespace {

struct GradientBands {
    uint32_t heads = 0;     // KV heads of a pass, of all sequences; 0 = nothing is stored
    uint32_t tiles = 0;     // tiles of keys in a band
    uint32_t passes = 0;    // of all heads and bands
    uint64_t pairBytes = 0; // of ds, and of p where it is stored
    uint64_t sumBytes = 0;  // of sums of dq; 0 if a band has all keys
};

constexpr uint32_t wordElements = 8; // of 16 bits
// Workgroups of a pass, in waves. With more of them, those of a causal mask, which take different times, end together.
constexpr uint64_t mostWaves = 4;
// KV heads of a pass, if there are as many. Fewer heads have longer bands, whose workgroups take less similar times
// under a causal mask.
constexpr uint64_t fewHeads = 8;

struct Sizes {
    uint64_t heads;     // KV heads of all sequences
    uint64_t tiles;     // of keys, of a head
    uint64_t pairBytes; // of a tile, of p or ds
    uint64_t sumBytes;  // of dq of a KV head
    uint64_t unit;      // tiles in a step of sums over keys; it divides those of a band
};

Sizes sizesOf(const VkfProblem& p, const GradientMatrixTile& store, const GradientSumTile& sum) {
    const uint64_t queryHeads = p.queryHeads / p.kvHeads; // of a KV head
    const uint64_t rowTiles = (uint64_t{p.queryRows} + sum.rows() - 1) / sum.rows();
    return {uint64_t{p.batch} * p.kvHeads, (uint64_t{p.keys} + store.keys() - 1) / store.keys(),
            queryHeads * store.keys() * VKF_DS_ROWS(uint64_t{p.queryRows}) * 2,
            queryHeads * rowTiles * sum.rows() * sum.columns() * sizeof(float),
            std::max<uint64_t>(sum.keys() / store.keys(), 1)};
}

// The smallest divisor of `number` that is not smaller than `least`; `number` itself if none is near.
uint64_t divisorFrom(uint64_t least, uint64_t number) {
    constexpr uint64_t near = 1024;
    for (uint64_t divisor = std::max<uint64_t>(least, 1); divisor < std::min(least + near, number); divisor++) {
        if (number % divisor == 0) {
            return divisor;
        }
    }
    return number;
}

// The largest divisor of `number` that is not larger than `most`, which is at least 1.
uint64_t divisorUpTo(uint64_t most, uint64_t number) {
    uint64_t divisor = std::min(most, number);
    while (number % divisor != 0) {
        divisor--;
    }
    return divisor;
}

// KV heads of a pass of about so many workgroups. A band with all keys of its heads is best: it adds to no sums of
// earlier bands. docs/tuning.md, "Pairs in scratch memory", has the model.
uint64_t headsOfPass(const Sizes& sizes, uint64_t workgroups) {
    if (workgroups >= sizes.tiles) {
        const uint64_t whole = divisorUpTo(workgroups / sizes.tiles, sizes.heads);
        if (whole >= fewHeads || whole == sizes.heads) {
            return whole;
        }
    }
    return divisorFrom(std::max((workgroups + sizes.tiles - 1) / sizes.tiles, fewHeads), sizes.heads);
}

// The bands of a pass of about so many workgroups; none if they need more bytes or work items than there may be.
// `stored`: 2 for p and ds, else 1.
GradientBands bandsOf(const Sizes& sizes, uint64_t workgroups, uint32_t stored, uint64_t allowedBytes) {
    const uint64_t heads = headsOfPass(sizes, workgroups);
    const uint64_t some = std::clamp<uint64_t>(workgroups / heads, 1, sizes.tiles);
    const uint64_t tiles = (some + sizes.unit - 1) / sizes.unit * sizes.unit;
    const uint64_t bands = (sizes.tiles + tiles - 1) / tiles;
    const uint64_t ofHead = stored * tiles * sizes.pairBytes + (bands == 1 ? 0 : sizes.sumBytes);
    if (heads > allowedBytes / ofHead || sizes.heads * bands * tiles > UINT32_MAX) {
        return {};
    }
    return {static_cast<uint32_t>(heads), static_cast<uint32_t>(tiles),
            static_cast<uint32_t>(sizes.heads / heads * bands), stored * heads * tiles * sizes.pairBytes,
            bands == 1 ? 0 : heads * sizes.sumBytes};
}

// Whether the kernel that owns keys stores ds for all rows that may see one of them, in matrices that can be
// transposed.
bool fillsBands(const CheckedProblem& forward, const GradientMatrixTile& store) {
    return store.layout.rows == store.layout.depth && !has(forward.given, VKF_ARRAY_CU_SEQLENS) &&
           !has(forward.given, VKF_ARRAY_BLOCK_MASK) && forward.firstKeys() == 0 && VKF_DS_UNIT % store.rows() == 0;
}

// Bytes of scratch memory that bands may take. Where the caller sets no limit, they are left out where docs/tuning.md
// shows no gain, or where kernels that run side by side occupy the device better than kernels that take turns.
uint64_t allowedBytes(const CheckedGradient& gradient, uint64_t workgroups) {
    constexpr uint32_t widestWithout = 64;
    constexpr uint64_t mostBytes = uint64_t{UINT32_MAX} * 16; // kernels count words of 16 bytes
    const VkfProblem& p = gradient.forward.given;
    if (gradient.given.maxScratchBytes != 0) {
        return std::min(gradient.given.maxScratchBytes, mostBytes);
    }
    const bool pays = std::max(p.headDim, p.valueDim) > widestWithout && workgroups >= multiprocessors;
    return pays ? VKF_DEFAULT_GRADIENT_SCRATCH_BYTES : 0;
}

// The bands that fit VkfGradientProblem::maxScratchBytes, as many at a time as pay. None if too few fit to occupy the
// device, or if the problem's masks leave holes in ds. `store` stores ds, or p and ds, `sum` sums over keys.
GradientBands chooseGradientBands(const CheckedGradient& gradient, const GradientMatrixTile& store,
                                  const GradientSumTile& sum) {
    const VkfProblem& p = gradient.forward.given;
    if (!fillsBands(gradient.forward, store) || store.workgroupSize() == 0 || sum.workgroupSize() == 0) {
        return {};
    }
    const Sizes sizes = sizesOf(p, store, sum);
    const uint64_t all = sizes.heads * sizes.tiles;
    const uint64_t allowed = allowedBytes(gradient, all);
    for (uint64_t waves = mostWaves; waves > 0; waves /= 2) {
        const uint64_t workgroups = std::min(waves * multiprocessors, all);
        const GradientBands bands = bandsOf(sizes, workgroups, store.storesP ? 2 : 1, allowed);
        if (bands.heads != 0) {
            return bands;
        }
    }
    return {};
}

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
    const auto sum = [&](GradientOwner owner, uint32_t dim) {
        return chooseGradientSumTile(builder.caps(), layout, owner, dim);
    };
    if (std::max(p.headDim, p.valueDim) <= widestFused) {
        return {keyTiles[0], sum(GradientOwner::rows, p.headDim), {}, {}};
    }
    GradientTileProblem problem = tileProblem(builder, GradientOwner::keys, false, false);
    problem.storesP = true;
    return {chooseGradientMatrixTile(builder.device(), layout, problem), sum(GradientOwner::rows, p.headDim),
            sum(GradientOwner::keys, p.headDim),
            writesDv(builder) ? sum(GradientOwner::keys, p.valueDim) : GradientSumTile{}};
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
    constants[VKF_ID_PAIRS_BY_LANE] = !store.layout.exchanged && store.layout.elements() % wordElements == 0 ? 1 : 0;
    if (phase.variant.kernel == Kernel::gradientSums) {
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
    const uint64_t stored = tiles.store.storesP ? bands.pairBytes / 2 : bands.pairBytes;
    schedule.bandKeys = bands.tiles * tiles.store.keys();
    schedule.dsOffset = schedule.reserveScratch(stored);
    schedule.pOffset = tiles.store.storesP ? schedule.reserveScratch(stored) : 0;
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
void runIfAgain(GradientBuilder& builder, bool joins) {
    builder.lastPhase().variant.constants[VKF_ID_IF_AGAIN] = 1;
    builder.lastPhase().joins = joins;
}

// Adds the phases that write dq, dk and dv, where ds, or p and ds, stay in scratch memory. Phases that keep them to
// themselves come last: they have to, if stored ones cannot give the sums (VKF_SUMS_AGAIN).
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
        runIfAgain(builder, false);
    }
    for (const GradientMatrixTile& tile : keyTiles) {
        if (result == VKF_SUCCESS && tiles.store.storesP) {
            result = addKeyPhase(builder, tile, message);
            runIfAgain(builder, true);
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
