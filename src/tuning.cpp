// SPDX-License-Identifier: MIT
#include "tuning.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "../shaders/shared/attention_params.h"
#include "tuning_file.hpp"

namespace vkf {
namespace {

constexpr uint32_t wordBytes = 16;

// A tile before the head dimensions are known. docs/tuning.md has the measurements.
struct Candidate {
    uint32_t groups; // of lanes
    uint32_t lanes;
    uint32_t threadRows;
    uint32_t threadKeys;
    uint32_t chunkDim4; // at most
    uint32_t chunkKeys; // at most; lanes times a power of two
    uint32_t leastValueDim;
    uint32_t mostValueDim;
    bool outputF32;           // of use for fp32 outputs alone
    uint32_t leastWorkgroups; // with fewer a later one is better
};

// Best first. Columns of q and k are staged 32 at a time, because in fp32 they are a cache line: 16 cost
// 15 % on an NVIDIA H200.
constexpr std::array candidates = {
    // Two workgroups fit a multiprocessor of the H200, whose driver was seen to give workgroups 48 KiB of
    // shared memory together.
    Candidate{8, 16, 8, 4, 8, 16, 1, 128, false, 0},
    // One workgroup of twice the rows: eight rows an invocation halve the reads of v. Packing that many
    // 16-bit outputs makes the H200's compiler move the accumulators to memory, at half the speed. With fewer
    // workgroups than multiprocessors, 132, some idle. A device with few multiprocessors hardly cares.
    Candidate{16, 16, 8, 4, 8, 16, 129, 256, true, 128},
    Candidate{8, 16, 4, 4, 8, 16, 1, 256, false, 0},
    Candidate{8, 16, 4, 2, 8, 16, 1, 256, false, 0},
    Candidate{16, 8, 4, 4, 8, 16, 1, 256, false, 0},
    Candidate{8, 8, 4, 4, 8, 16, 1, 256, false, 0},
    Candidate{8, 8, 2, 4, 8, 8, 1, 256, false, 0},
    Candidate{8, 16, 2, 2, 8, 16, 1, 256, false, 0},
    Candidate{16, 4, 2, 4, 8, 8, 1, 256, false, 0},
    Candidate{32, 4, 1, 4, 8, 8, 1, 256, false, 0},
};

// Of tuning data. Nothing holds more; such a tile was never measured, and takes long to compile.
constexpr uint32_t mostTunedRegisters = 255;

constexpr uint32_t leastRowsOfWholeBlocks = 32;
constexpr uint32_t mostRowsOfCutBlocks = 64;

// More than this spills on hardware with 255 registers an invocation, next to addresses and counters.
constexpr uint32_t mostRegisters = 224;

Objection unfitness(const Tile& tile, const Caps& caps) {
    const bool wide = tile.lanes > caps.subgroupSize;
    const bool ragged = caps.subgroupReductions() && (wide || tile.workgroupSize % caps.subgroupSize != 0);
    return firstObjection({
        {tile.workgroupSize > caps.maxInvocations, {VKF_TILE_INVOCATIONS, tile.workgroupSize, caps.maxInvocations}},
        {tile.sharedBytes() > caps.maxSharedMemoryBytes,
         {VKF_TILE_SHARED_MEMORY, tile.sharedBytes(), caps.maxSharedMemoryBytes}},
        {ragged, {VKF_TILE_SUBGROUPS, wide ? tile.lanes : tile.workgroupSize, caps.subgroupSize}},
    });
}

// Why the problem is not one that the candidate is for.
Objection strangeness(const Candidate& candidate, const TileProblem& problem) {
    const uint32_t dim = problem.valueDim;
    return firstObjection({
        {dim < candidate.leastValueDim, {VKF_TILE_DIMENSIONS, dim, candidate.leastValueDim}},
        {dim > candidate.mostValueDim, {VKF_TILE_DIMENSIONS, dim, candidate.mostValueDim}},
        {candidate.outputF32 && !problem.outputF32, {VKF_TILE_OUTPUT_TYPE, 0, 0}},
    });
}

// Why a tile that fits is not a good one for the problem.
Objection weakness(const Candidate& candidate, const Tile& tile, const TileProblem& problem) {
    const uint64_t manyRows = uint64_t{2} * std::max(problem.queryRows, 8U);
    const uint64_t workgroups = problem.workgroups(tile.rows());
    return firstObjection({
        {tile.registers() > mostRegisters, {VKF_TILE_REGISTERS, tile.registers(), mostRegisters}},
        {tile.rows() >= manyRows, {VKF_TILE_HALF_EMPTY, tile.rows(), manyRows}},
        {workgroups < candidate.leastWorkgroups, {VKF_TILE_FEW_WORKGROUPS, workgroups, candidate.leastWorkgroups}},
    });
}

// The candidate at these dimensions, staging in smaller pieces where the shared memory asks for it.
Tile tileOf(const Candidate& candidate, const Caps& caps, uint32_t headDim, uint32_t valueDim) {
    Tile tile;
    tile.lanes = candidate.lanes;
    tile.workgroupSize = candidate.groups * candidate.lanes;
    tile.threadRows = candidate.threadRows;
    tile.threadKeys = candidate.threadKeys;
    tile.threadColumns4 = (valueDim + 4 * candidate.lanes - 1) / (4 * candidate.lanes);
    // Chunks of equal size, so that the last one is whole too where that can be.
    const uint32_t dim4 = (headDim + 3) / 4;
    const uint32_t chunks = (dim4 + candidate.chunkDim4 - 1) / candidate.chunkDim4;
    tile.chunkDim4 = (dim4 + chunks - 1) / chunks;
    tile.chunkKeys = candidate.chunkKeys;
    const auto tooLarge = [&] { return tile.sharedBytes() > caps.maxSharedMemoryBytes; };
    while (tile.chunkKeys > tile.lanes && tooLarge()) {
        tile.chunkKeys /= 2;
    }
    while (tile.chunkDim4 > 1 && tooLarge()) {
        tile.chunkDim4 /= 2;
    }
    return tile;
}

ConsideredTile consideredTile(const Tile& tile, const TileProblem& problem, const Objection& objection) {
    ConsideredTile considered;
    considered.tile = tile.text();
    considered.rows = tile.rows();
    considered.keys = tile.keys();
    considered.workgroupSize = tile.workgroupSize;
    considered.sharedBytes = tile.sharedBytes();
    considered.registers = tile.registers();
    considered.workgroups = problem.workgroups(tile.rows());
    considered.objection = objection;
    considered.fromTuning = tile.tuned;
    return considered;
}

// The entries that are about the problem.
void considerTuned(const Caps& caps, const TileProblem& problem, TileSearch<Tile>& search) {
    for (const TuningEntry& entry : caps.tuning) {
        if (!isAbout(entry, problem)) {
            continue;
        }
        const TunedScalarTile& t = entry.scalar;
        Tile tile =
            tileOf({t.groups, t.lanes, t.threadRows, t.threadKeys, t.chunkDim4, t.chunkKeys, 1, VKF_MAX_DIM, false, 0},
                   caps, problem.headDim, problem.valueDim);
        tile.tuned = true;
        const bool whole = problem.keepsBlocksWhole(tile.rows(), tile.keys());
        const Objection strange = firstObjection({
            {tile.registers() > mostTunedRegisters, {VKF_TILE_REGISTERS, tile.registers(), mostTunedRegisters}},
            {!whole, {VKF_TILE_BLOCKS, tile.rows(), problem.maskBlock}},
        });
        search.consider(tile, consideredTile(tile, problem, unfitness(tile, caps).orElse(strange)));
    }
}

void considerBuiltIn(const Caps& caps, const TileProblem& problem, BlockTiles tiles, TileSearch<Tile>& search) {
    for (const Candidate& candidate : candidates) {
        const Tile tile = tileOf(candidate, caps, problem.headDim, problem.valueDim);
        const Objection objection = strangeness(candidate, problem)
                                        .orElse(unfitness(tile, caps))
                                        .orElse(blockObjection(tiles, problem, tile.rows(), tile.keys()))
                                        .orElse(weakness(candidate, tile, problem));
        search.consider(tile, consideredTile(tile, problem, objection));
    }
}

} // namespace

bool isAbout(const TuningEntry& entry, const TileProblem& problem) {
    return entry.path == problem.path && problem.type == entry.type && entry.masked == problem.masked &&
           entry.headDim.holds(problem.headDim) && entry.valueDim.holds(problem.valueDim) &&
           entry.rows.holds(problem.queryRows) && entry.keys.holds(problem.keys) && entry.heads.holds(problem.heads);
}

Objection blockObjection(BlockTiles tiles, const TileProblem& problem, uint32_t tileRows, uint32_t tileKeys) {
    const bool whole = tileRows >= leastRowsOfWholeBlocks && problem.keepsBlocksWhole(tileRows, tileKeys);
    const bool among = tiles == BlockTiles::whole ? whole : tileRows <= mostRowsOfCutBlocks;
    return firstObjection({{problem.maskBlock != 0 && !among, {VKF_TILE_BLOCKS, tileRows, problem.maskBlock}}});
}

uint32_t Tile::sharedBytes() const {
    const uint32_t kWords = VKF_K_WORDS(keys(), chunkDim4);
    const uint32_t vWords = VKF_V_WORDS(chunkKeys, lanes * threadColumns4);
    const uint32_t qWords = VKF_Q_WORDS(rows(), chunkDim4);
    const uint32_t pWords = VKF_P_WORDS(rows(), chunkKeys);
    return (qWords + VKF_MAX_WORDS(kWords, vWords) + pWords) * wordBytes;
}

uint32_t Tile::registers() const {
    const uint32_t s = threadRows * threadKeys;
    const uint32_t o = threadRows * threadColumns4 * 4;
    const uint32_t scoreFragments = threadKeys * 4 + 4;
    const uint32_t outputFragments = threadRows * 4 + 16;
    return s + o + std::max(scoreFragments, outputFragments) + 2 * threadRows;
}

std::string Tile::text() const {
    return tileText(TunedScalarTile{workgroupSize / lanes, lanes, threadRows, threadKeys, chunkDim4, chunkKeys});
}

Tile chooseScalarTile(const Caps& caps, const TileProblem& problem, ConsideredTiles* considered) {
    TileSearch<Tile> search;
    considerTuned(caps, problem, search);
    considerBuiltIn(caps, problem, BlockTiles::whole, search);
    if (!search.found()) {
        considerBuiltIn(caps, problem, BlockTiles::cut, search);
    }
    return search.finish(considered);
}

} // namespace vkf
