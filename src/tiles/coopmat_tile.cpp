// SPDX-License-Identifier: MIT
#include "tiles/coopmat_tile.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "shared/attention_params.h"
#include "tiles/occupancy.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

constexpr uint32_t wordBytes = 16;
constexpr uint32_t addressBytes = 8; // of a row's bias

// A tile before matrix shape and head dimensions are known. docs/tuning.md has the measurements.
struct Candidate {
    uint32_t subgroups;
    uint32_t rowTiles;
    uint32_t keyTiles;
    uint32_t mostDim;            // of q and v, whichever is larger
    uint32_t mostMaskedKeys = 0; // if not 0, for masked problems of at most as many keys alone, and block masks
};

// Best first; all for 16 x 16 matrices on an H200, the smaller ones where the larger leave multiprocessors
// idle or do not fit the shared memory.
constexpr std::array registerCandidates = {
    // Two workgroups share the 48 KiB that a multiprocessor has for all, and hide each other's barriers.
    Candidate{4, 2, 4, 64},
    // Twice as many: one sequence of 512 rows takes 17.3 us instead of 19.7, causal 18.9 instead of 22.4.
    Candidate{4, 1, 4, 64},
    // Two workgroups that take turns at beginning and end, and fewer keys cut by the mask: 1.2 times as fast as the
    // next with 512 keys, 1.07 with 2048, 0.9 with 8192, where it serves blocks that are smaller than the next.
    Candidate{4, 2, 1, 128, 2048},
    // o and q of 32 rows fill the registers: one workgroup of eight subgroups.
    Candidate{8, 2, 2, 128},
    // Twice as many workgroups: one sequence of 1024 rows takes 44 us, in two parts with the tile before 58.
    Candidate{8, 1, 4, 128},
    // Few rows against many keys, 16 a subgroup: 64 packed rows against 65536 keys take 93 us, 103 with tiles of 32
    // keys.
    Candidate{4, 1, 4, 128},
    // o of 16 rows does.
    Candidate{8, 1, 2, 256},
    Candidate{4, 1, 2, 256},
    Candidate{2, 1, 2, 256},
    Candidate{1, 1, 2, 256},
    Candidate{1, 1, 1, 256},
};

// The same for matrices whose elements pass through shared memory, of which each subgroup needs a part of its own.
// The last fit 32 KiB for every head dimension.
constexpr std::array exchangeCandidates = {
    Candidate{4, 2, 4, 64},  Candidate{4, 2, 2, 64},  Candidate{8, 2, 2, 128},
    Candidate{4, 2, 2, 128}, Candidate{8, 1, 1, 256}, Candidate{4, 1, 1, 256},
    Candidate{2, 1, 2, 256}, Candidate{1, 1, 2, 256}, Candidate{1, 1, 1, 256},
};

// Subgroups below which a smaller tile serves a problem better: eight for a little less than the multiprocessors.
constexpr uint32_t fewSubgroups = 960;
// Workgroups of four subgroups with 16 rows each that are enough all the same, where keys are not split: one sequence
// of 512 rows, 16 heads, D = 128, takes 20.8 us in 128 of them, causal 22.3; in two parts of larger tiles 22.3, in
// smaller tiles, causal, 38.5.
constexpr uint64_t fewSmallWorkgroups = 120;
// The bias of the next tile counts: 8192 rows of 16 heads with a bias take 2.2 ms with 16 rows a subgroup, 2.9 with 32.
constexpr uint32_t mostRegisters = 232;
// Smaller workgroups load too little at a time, however few the rows.
constexpr uint32_t subgroupsOfFewRows = 4;
// Two for each multiprocessor, where each part has so many keys: 65536 keys of 64 packed rows of 8 KV heads
// take 93 us in 33 parts, 115 in 16.
constexpr uint64_t manyWorkgroups = 2 * multiprocessors;
constexpr uint64_t manySplitKeys = 1024;
// Fewer keys for a workgroup cost more in beginning, end and merge than they gain.
constexpr uint32_t leastSplitKeys = 256;
// Rows against a cache of so many times as many keys, or more: large tiles of split keys. 512 rows of 32 heads over 8,
// D = 128: against 16384 keys 413 us, small tiles 457; against 4096 126 and 120, but 159 and 172 where k and v are
// q4_0, whose elements each tile of rows makes anew.
constexpr uint32_t cacheKeys = 8;
constexpr uint32_t leastSplitKeysOfLargeHeads = 128;
constexpr uint32_t mostSmallDim = 128;

// Where registers are full, o leaves in words up to so many keys that a row sees: with more the end of a workgroup
// counts for little, and the loop is faster with the registers that the compiler finds for it otherwise (D = 128: 512,
// 1024, 2048, 8192 keys 3, 1, -1, -3 %, causal 4, 2, 0, -1). Of masks a row sees few keys, or the loop is not the usual
// one: 16 documents 5 %, random masks 8 %, half of the squares closed 1 %. D = 64, whose registers are not full: 5 %,
// causal 3.
constexpr uint32_t mostWordOutputKeys = 1024;
constexpr uint32_t fullRegisters = 192;

MatrixTile tileOf(const Candidate& candidate, const MatrixLayout& layout, const TileProblem& problem) {
    MatrixTile tile;
    tile.layout = layout;
    tile.subgroups = candidate.subgroups;
    tile.rowTiles = candidate.rowTiles;
    tile.keyTiles = candidate.keyTiles;
    tile.headDim = problem.headDim;
    tile.valueDim = problem.valueDim;
    tile.biasBits = problem.biasBits;
    return tile;
}

// Why the problem is not one that the candidate is for.
Objection strangeness(const Candidate& candidate, const TileProblem& problem) {
    const uint32_t dim = std::max(problem.headDim, problem.valueDim);
    const bool otherMask = candidate.mostMaskedKeys != 0 && problem.maskBlock == 0 &&
                           (!problem.masked || problem.keys > candidate.mostMaskedKeys);
    return firstObjection({
        {dim > candidate.mostDim, {VKF_TILE_DIMENSIONS, dim, candidate.mostDim}},
        {otherMask, {VKF_TILE_MASK, problem.keys, candidate.mostMaskedKeys}},
    });
}

Objection unfitness(const MatrixTile& tile, const Caps& caps) {
    return firstObjection({
        {tile.workgroupSize() > caps.maxInvocations, {VKF_TILE_INVOCATIONS, tile.workgroupSize(), caps.maxInvocations}},
        {tile.sharedBytes() > caps.maxSharedMemoryBytes,
         {VKF_TILE_SHARED_MEMORY, tile.sharedBytes(), caps.maxSharedMemoryBytes}},
    });
}

uint64_t enoughWorkgroups(const MatrixTile& tile) { return fewSubgroups / tile.subgroups; }

enum class KeySplits { none, wanted };

// Why a tile that fits is not a good one for the problem.
Objection weakness(const MatrixTile& tile, const TileProblem& problem, KeySplits keySplits, uint64_t workgroups) {
    const bool large = tile.subgroups > subgroupsOfFewRows || tile.rowTiles > 1;
    const bool smallDo = keySplits == KeySplits::none && tile.subgroups == subgroupsOfFewRows && !large;
    const uint64_t enough = smallDo ? fewSmallWorkgroups : enoughWorkgroups(tile);
    return firstObjection({
        {large && tile.rows() >= 2 * problem.rows(), {VKF_TILE_HALF_EMPTY, tile.rows(), 2 * problem.rows()}},
        {tile.registers() > mostRegisters, {VKF_TILE_REGISTERS, tile.registers(), mostRegisters}},
        {workgroups < enough, {VKF_TILE_FEW_WORKGROUPS, workgroups, enough}},
    });
}

// Where about as many rows as keys are masked, most parts would be empty. Smaller tiles served such problems better
// than splits (one sequence of 512 and 1024 rows, D = 128, causal, on an H200: 28 and 50 us against 44 and 78), but
// for large heads, whose small tiles are slow (D = 256: 91 and 140 us against 70 and 76).
uint64_t mostSplits(const TileProblem& problem) {
    if (std::max(problem.headDim, problem.valueDim) > mostSmallDim) {
        return std::max(problem.keys / leastSplitKeysOfLargeHeads, 1U);
    }
    const bool mostlyEmpty = problem.masked && problem.queryRows > problem.keys / 2;
    return mostlyEmpty ? 1 : std::max(problem.keys / leastSplitKeys, 1U);
}

// Until the workgroups are enough, or, of very many keys, fill an H200 twice.
uint64_t wantedSplits(const MatrixTile& tile, const TileProblem& problem, uint64_t workgroups) {
    const uint64_t wanted = (enoughWorkgroups(tile) + workgroups - 1) / workgroups;
    const uint64_t twice = manyWorkgroups / workgroups;
    return wanted > 1 && problem.keys >= twice * manySplitKeys ? std::max(wanted, twice) : wanted;
}

ConsideredTile consideredTile(const MatrixPlan& plan, const TileProblem& problem, const Objection& objection) {
    const MatrixTile& tile = plan.tile;
    ConsideredTile considered;
    considered.tile = tileText(TunedMatrixTile{tile.subgroups, tile.rowTiles, tile.keyTiles, plan.splits});
    considered.rows = tile.rows();
    considered.keys = tile.keys();
    considered.workgroupSize = tile.workgroupSize();
    considered.sharedBytes = tile.sharedBytes();
    considered.registers = tile.registers();
    considered.splits = plan.splits;
    considered.workgroups = problem.workgroups(tile.rows()) * plan.splits;
    considered.objection = objection;
    considered.fromTuning = plan.tuned;
    return considered;
}

// The entries that are about the problem. More parts of rows than the kernels can count would be refused where the
// built-in choice is not.
void considerTuned(const TunedDevice& device, const MatrixLayout& layout, const TileProblem& problem,
                   TileSearch<MatrixPlan>& search) {
    for (const TuningEntry& entry : device.tuning) {
        if (!isAbout(entry, problem)) {
            continue;
        }
        const TunedMatrixTile& t = entry.matrix;
        const MatrixPlan plan = {tileOf({t.subgroups, t.rowTiles, t.keyTiles, VKF_MAX_DIM}, layout, problem), t.splits,
                                 true};
        const uint64_t most = std::numeric_limits<uint32_t>::max();
        const uint64_t parts = problem.heads * problem.queryRows;
        const bool whole = problem.keepsBlocksWhole(plan.tile.rows(), plan.tile.keys());
        const Objection strange = firstObjection({
            {parts > most / t.splits, {VKF_TILE_PARTS, parts * t.splits, most}},
            {!whole, {VKF_TILE_BLOCKS, plan.tile.rows(), problem.maskBlock}},
        });
        search.consider(plan, consideredTile(plan, problem, unfitness(plan.tile, device.caps).orElse(strange)));
    }
}

void considerBuiltIn(const Caps& caps, const MatrixLayout& layout, const TileProblem& problem, BlockTiles tiles,
                     KeySplits keySplits, TileSearch<MatrixPlan>& search) {
    const std::span<const Candidate> candidates =
        layout.exchanged ? std::span<const Candidate>(exchangeCandidates) : registerCandidates;
    for (const Candidate& candidate : candidates) {
        const MatrixTile tile = tileOf(candidate, layout, problem);
        const uint64_t count = std::max<uint64_t>(problem.workgroups(tile.rows()), 1);
        const uint64_t wanted = std::min(mostSplits(problem), wantedSplits(tile, problem, count));
        const uint64_t splits = keySplits == KeySplits::wanted ? wanted : 1;
        const MatrixPlan plan = {tile, static_cast<uint32_t>(splits), false};
        const Objection objection = strangeness(candidate, problem)
                                        .orElse(unfitness(tile, caps))
                                        .orElse(blockObjection(tiles, problem, tile.rows(), tile.keys()))
                                        .orElse(weakness(tile, problem, keySplits, count * splits));
        search.consider(plan, consideredTile(plan, problem, objection));
    }
}

} // namespace

uint32_t MatrixTile::sharedBytes() const {
    const uint32_t depth = layout.depth;
    const uint32_t kvWords = VKF_MATRIX_KV_WORDS(keys(), depth, layout.columns, headDim, valueDim);
    const uint32_t stageWords = subgroups * VKF_MATRIX_STAGE_WORDS(layout.rows, depth, layout.columns);
    const uint32_t exchangeWords = layout.exchanged ? subgroups * VKF_MATRIX_EXCHANGE_WORDS(layout.rows, keys()) : 0;
    const uint32_t biasBytes = biasBits != 0 ? rows() * addressBytes : 0;
    return (VKF_MAX_WORDS(kvWords, stageWords) + exchangeWords + 1) * wordBytes + biasBytes;
}

uint32_t MatrixTile::registers() const {
    const uint32_t dimTiles = VKF_MATRIX_TILES(headDim, layout.depth);
    const uint32_t valueTiles = VKF_MATRIX_TILES(valueDim, layout.columns);
    const uint32_t ofQ = layout.rows * layout.depth / layout.lanes * dimTiles / 2;
    const uint32_t ofBias = layout.elements() * keyMatrices() * biasBits / 32;
    return rowTiles * (ofQ + layout.elements() * (keyMatrices() + valueTiles) + ofBias);
}

bool outputInWords(const MatrixTile& tile, uint32_t keys, bool asksKeys) {
    const bool full = tile.rowTiles > 1 && tile.registers() > fullRegisters;
    return !tile.layout.exchanged && (!full || keys <= mostWordOutputKeys || asksKeys);
}

MatrixPlan chooseMatrixTile(const TunedDevice& device, const MatrixLayout& layout, const TileProblem& problem,
                            ConsideredTiles* considered) {
    TileSearch<MatrixPlan> search;
    const Caps& caps = device.caps;
    considerTuned(device, layout, problem, search);
    // Smaller tiles serve better than splits, but for caches, and for large heads, whose small tiles are slow: one
    // sequence of 512 rows, D = 256, takes 130 us in four parts, 211 us in two with tiles of half the rows.
    const bool small = std::max(problem.headDim, problem.valueDim) <= mostSmallDim &&
                       problem.keys < uint64_t{cacheKeys} * problem.queryRows;
    considerBuiltIn(caps, layout, problem, BlockTiles::whole, small ? KeySplits::none : KeySplits::wanted, search);
    if (small && !search.settled()) {
        considerBuiltIn(caps, layout, problem, BlockTiles::whole, KeySplits::wanted, search);
    }
    if (!search.found()) {
        considerBuiltIn(caps, layout, problem, BlockTiles::cut, KeySplits::wanted, search);
    }
    return search.finish(considered);
}

} // namespace vkf
