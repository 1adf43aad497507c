// SPDX-License-Identifier: MIT
#include "tiles/coopmat_tile.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "device/chips.hpp"
#include "shared/attention_params.h"
#include "shared/tile_memory.h"
#include "tiles/amd/registers.hpp"
#include "tiles/rejections.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

using Coopmat = Chip::Coopmat;

constexpr uint32_t addressBytes = 8; // address of one row of the bias

std::span<const CoopmatCandidate> candidatesFor(const Coopmat& chip, const MatrixLayout& layout, bool bf16x3) {
    return bf16x3 ? chip.bf16x3Candidates : layout.viaShared ? chip.viaSharedCandidates : chip.registerCandidates;
}

CoopmatTile tileOf(const CoopmatCandidate& candidate, const Caps& caps, const MatrixLayout& layout,
                   const TileProblem& problem) {
    CoopmatTile tile;
    tile.layout = layout;
    tile.subgroups = candidate.subgroups;
    tile.rowMatrices = candidate.rowMatrices;
    tile.keyUnits = candidate.keyUnits;
    tile.headDim = problem.headDim;
    tile.valueDim = problem.valueDim;
    tile.biasBits = problem.biasBits;
    tile.bf16x3 = problem.bf16x3;
    tile.loadsScalars = problem.gathers && problem.packedHeads > 1;
    tile.sharedQSlices = sharedQSlicesOf(tile, caps, problem);
    return tile;
}

uint64_t enoughWorkgroups(const Coopmat& chip, const CoopmatTile& tile) { return chip.minSubgroups / tile.subgroups; }

// Under a causal mask the longest workgroup takes twice the mean.
uint64_t enoughUnderMasks(const Coopmat& chip, const CoopmatTile& tile) { return 2 * enoughWorkgroups(chip, tile); }

enum class KeySplits { none, wanted };

// Whether rows of a masked problem may see very different numbers of keys, as under a causal mask. It is true under a
// window, too.
bool isUneven(const TileProblem& problem) { return problem.masked && problem.queryRows > problem.keys / 2; }

// Whether the first tiles of an uneven problem end early. Under a window most rows see the same number of keys.
bool endsEarly(const TileProblem& problem) { return isUneven(problem) && problem.queryRows / 2 < problem.keys; }

// Why the candidate is not for this problem.
Rejection otherProblem(const Coopmat& chip, const CoopmatCandidate& candidate, const TileProblem& problem) {
    const uint32_t maxKeys = endsEarly(problem) ? std::min(candidate.maxMaskedKeys, chip.maxKeysOfSmallCausalTiles)
                                                : candidate.maxMaskedKeys;
    const bool otherMask = maxKeys != 0 && problem.maskBlock == 0 && (!problem.masked || problem.keys > maxKeys);
    return firstOf({
        otherDimension(std::max(problem.headDim, problem.valueDim), 0, candidate.maxDim),
        rejectIf(otherMask, {VKF_TILE_MASK, problem.keys, maxKeys}),
    });
}

// Small tiles are taken where large ones would leave multiprocessors idle.
bool isLarge(const Coopmat& chip, const CoopmatTile& tile) {
    return tile.subgroups > chip.subgroupsOfFewRows || tile.rowMatrices > 1;
}

// With fewer workgroups than these, another tile or more splits are better.
uint64_t minWorkgroups(const Coopmat& chip, const CoopmatTile& tile, const TileProblem& problem, KeySplits keySplits) {
    if (!isLarge(chip, tile) && tile.subgroups == chip.subgroupsOfFewRows && keySplits == KeySplits::none) {
        return chip.enoughSmallWorkgroups;
    }
    if (tile.rowMatrices > 1 && tile.subgroups > chip.subgroupsOfFewRows && isUneven(problem)) {
        return enoughUnderMasks(chip, tile);
    }
    if (tile.rowMatrices > 1 && tile.subgroups == chip.subgroupsOfFewRows && endsEarly(problem)) {
        return chip.moreThanOneWave;
    }
    return enoughWorkgroups(chip, tile);
}

// Why a tile that fits is not a good one for the problem.
Rejection weakness(const Coopmat& chip, const CoopmatTile& tile, const TileProblem& problem, KeySplits keySplits,
                   uint64_t workgroups) {
    return firstOf({
        isLarge(chip, tile) ? halfEmpty(tile.rows(), problem.rows()) : Rejection{},
        spillsRegisters(tile.registers(), chip.maxRegisters),
        fewWorkgroups(workgroups, minWorkgroups(chip, tile, problem, keySplits)),
    });
}

// In a masked problem with about as many rows as keys, most splits would be empty. Smaller tiles are faster than splits
// there, but not where heads are large. The kernels are compiled for a number of splits, so that the number is a power
// of two while it grows with the keys: a cache that grows meets few numbers.
uint64_t maxSplits(const Coopmat& chip, const TileProblem& problem) {
    if (std::max(problem.headDim, problem.valueDim) > chip.maxSmallDim) {
        return std::bit_floor(std::max(problem.keys / chip.minSplitKeysOfLargeHeads, 1U));
    }
    return isUneven(problem) ? 1 : std::bit_floor(std::max(problem.keys / chip.minSplitKeys, 1U));
}

// Splits of long rows that make the workgroups of a problem that ends early end at about the same time. 0 for others.
uint64_t balancedSplits(const Coopmat& chip, const TileProblem& problem, uint64_t workgroups) {
    const uint64_t wanted = (chip.balancedWorkgroups + workgroups - 1) / workgroups;
    return endsEarly(problem) ? std::min<uint64_t>(wanted, problem.keys / chip.minBalancedSplitKeys) : 0;
}

// Splits until there are enough workgroups. Where keys are very many, until the workgroups fill an H200 twice.
uint64_t wantedSplits(const Coopmat& chip, const CoopmatTile& tile, const TileProblem& problem, uint64_t workgroups) {
    const uint64_t wanted = std::max((enoughWorkgroups(chip, tile) + workgroups - 1) / workgroups,
                                     balancedSplits(chip, problem, workgroups));
    const uint64_t twice = chip.manyWorkgroups / workgroups;
    return wanted > 1 && problem.keys >= twice * chip.manySplitKeys ? std::max(wanted, twice) : wanted;
}

void considerBuiltIn(const Caps& caps, const MatrixLayout& layout, const TileProblem& problem, BlockTiles tiles,
                     KeySplits keySplits, TileSearch<CoopmatPlan>& search) {
    const Coopmat& chip = chipOf(caps).coopmat;
    for (const CoopmatCandidate& candidate : candidatesFor(chip, layout, problem.bf16x3)) {
        const CoopmatTile tile = tileOf(candidate, caps, layout, problem);
        const uint64_t count = std::max<uint64_t>(problem.workgroups(tile.rows()), 1);
        const uint64_t wanted = std::min(maxSplits(chip, problem), wantedSplits(chip, tile, problem, count));
        const uint64_t splits = keySplits == KeySplits::wanted ? wanted : 1;
        const CoopmatPlan plan = {tile, static_cast<uint32_t>(splits)};
        search.consider(plan, problem.workgroups(tile.rows()),
                        firstOf({
                            otherProblem(chip, candidate, problem),
                            exceedsDevice(tile, caps),
                            otherBlocks(tiles, problem, tile.rows(), tile.keys()),
                            spillsOnAmd(tile, caps),
                            weakness(chip, tile, problem, keySplits, count * splits),
                        }));
    }
}

} // namespace

uint32_t CoopmatTile::sharedBytes() const {
    const uint32_t depth = layout.depth;
    const uint32_t kvWords = parts() * VKF_MATRIX_KV_WORDS(keys(), depth, layout.columns, headDim, valueDim);
    const uint32_t stageWords = subgroups * VKF_MATRIX_STAGE_WORDS(layout.rows, depth, layout.columns);
    const uint32_t viaSharedWords = layout.viaShared ? subgroups * VKF_VIA_SHARED_WORDS(layout.rows, keys()) : 0;
    const uint32_t biasBytes = biasBits != 0 ? rows() * addressBytes : 0;
    const uint32_t queryWords = VKF_MATRIX_SHARED_Q_WORDS(rows(), sharedQSlices, depth);
    return (VKF_MAX_WORDS(kvWords, stageWords) + queryWords + viaSharedWords + 1) * VKF_WORD_BYTES + biasBytes;
}

uint32_t CoopmatTile::registers() const {
    const uint32_t dimMatrices = VKF_MATRICES(headDim, layout.depth);
    const uint32_t valueMatrices = VKF_MATRICES(valueDim, layout.columns);
    const uint32_t ofQ = parts() * layout.rows * layout.depth / layout.lanes * dimMatrices / 2;
    const uint32_t ofBias = layout.elements() * keyMatrices() * biasBits / 32;
    return rowMatrices * (ofQ + layout.elements() * (parts() * keyMatrices() + valueMatrices) + ofBias);
}

// Under a boolean mask all of q is in registers, unless nearly all tiles are full.
uint32_t sharedQSlicesOf(CoopmatTile tile, const Caps& caps, const TileProblem& problem) {
    const Coopmat& chip = chipOf(caps).coopmat;
    const MatrixLayout& layout = tile.layout;
    if (problem.bf16x3 || problem.keyMask || layout.viaShared || tile.registers() <= chip.registersBeforeSharingQ) {
        return 0;
    }
    const uint32_t ofDepth = tile.rowMatrices * layout.rows * layout.depth / layout.lanes / 2;
    const uint32_t leastHeld = 1; // an array of q in registers has elements
    tile.sharedQSlices =
        std::min((chip.freedRegisters + ofDepth - 1) / ofDepth, VKF_MATRICES(tile.headDim, layout.depth) - leastHeld);
    while (tile.sharedQSlices > 0 && tile.sharedBytes() > caps.maxSharedMemoryBytes) {
        tile.sharedQSlices--;
    }
    return tile.sharedQSlices;
}

std::string CoopmatTile::text(uint32_t splits) const {
    return tileText(TunedCoopmatTile{subgroups, rowMatrices, keyUnits, splits});
}

bool hasCache(const Caps& caps, const TileProblem& problem) {
    return problem.keys >= uint64_t{chipOf(caps).coopmat.cacheKeys} * problem.queryRows;
}

bool staysBusyUnderMasks(const CoopmatTile& tile, const Caps& caps, const TileProblem& problem) {
    const Coopmat& chip = chipOf(caps).coopmat;
    return problem.workgroups(tile.rows()) >= enoughUnderMasks(chip, tile);
}

CoopmatPlan chooseCoopmatTile(const TunedDevice& device, const MatrixLayout& layout, const TileProblem& problem,
                              ConsideredTiles* considered) {
    TileSearch<CoopmatPlan> search;
    const Caps& caps = device.caps;
    const Coopmat& chip = chipOf(caps).coopmat;
    considerTuned(
        device, problem,
        [&](const TuningEntry& entry) {
            const TunedCoopmatTile& t = entry.coopmat;
            return CoopmatPlan{tileOf({t.subgroups, t.rowMatrices, t.keyUnits, VKF_MAX_DIM}, caps, layout, problem),
                               t.splits};
        },
        [](const CoopmatTile&) { return Rejection{}; }, search);
    // Smaller tiles are faster than splits, with two exceptions: caches, and large heads, whose small tiles are slow.
    const bool small = std::max(problem.headDim, problem.valueDim) <= chip.maxSmallDim && !hasCache(caps, problem);
    considerBuiltIn(caps, layout, problem, BlockTiles::inOneBlock, small ? KeySplits::none : KeySplits::wanted, search);
    if (small && !search.settled()) {
        considerBuiltIn(caps, layout, problem, BlockTiles::inOneBlock, KeySplits::wanted, search);
    }
    if (!search.found()) {
        considerBuiltIn(caps, layout, problem, BlockTiles::inSeveralBlocks, KeySplits::wanted, search);
    }
    return search.finish(considered);
}

} // namespace vkf
