// SPDX-License-Identifier: MIT
#include "tuning.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "../shaders/shared/attention_params.h"

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

bool fits(const Tile& tile, const Caps& caps) {
    if (tile.workgroupSize > caps.maxInvocations || tile.sharedBytes() > caps.maxSharedMemoryBytes) {
        return false;
    }
    return !caps.subgroupReductions() ||
           (tile.lanes <= caps.subgroupSize && tile.workgroupSize % caps.subgroupSize == 0);
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

// Of the first entry that is about the problem and fits; none if there is no such entry.
Tile tunedTile(const Caps& caps, const TileProblem& problem) {
    for (const TuningEntry& entry : caps.tuning) {
        if (!isAbout(entry, problem)) {
            continue;
        }
        const TunedScalarTile& t = entry.scalar;
        Tile tile =
            tileOf({t.groups, t.lanes, t.threadRows, t.threadKeys, t.chunkDim4, t.chunkKeys, 1, VKF_MAX_DIM, false, 0},
                   caps, problem.headDim, problem.valueDim);
        if (fits(tile, caps) && tile.registers() <= mostTunedRegisters &&
            problem.keepsBlocksWhole(tile.rows(), tile.keys())) {
            tile.tuned = true;
            return tile;
        }
    }
    return {};
}

// None if no candidate is among the tiles that fits the device.
Tile builtInTile(const Caps& caps, const TileProblem& problem, BlockTiles tiles) {
    const auto suits = [&](const Candidate& candidate, const Tile& tile) {
        const bool halfEmpty = tile.rows() >= 2 * std::max(problem.queryRows, 8U);
        return tile.registers() <= mostRegisters && !halfEmpty &&
               problem.workgroups(tile.rows()) >= candidate.leastWorkgroups;
    };
    Tile last;
    for (const Candidate& candidate : candidates) {
        if (problem.valueDim < candidate.leastValueDim || problem.valueDim > candidate.mostValueDim ||
            (candidate.outputF32 && !problem.outputF32)) {
            continue;
        }
        const Tile tile = tileOf(candidate, caps, problem.headDim, problem.valueDim);
        if (!fits(tile, caps) || !isAmong(tiles, problem, tile.rows(), tile.keys())) {
            continue;
        }
        last = tile;
        if (suits(candidate, tile)) {
            break;
        }
    }
    return last;
}

} // namespace

bool isAbout(const TuningEntry& entry, const TileProblem& problem) {
    return entry.path == problem.path && problem.type == entry.type && entry.masked == problem.masked &&
           entry.headDim.holds(problem.headDim) && entry.valueDim.holds(problem.valueDim) &&
           entry.rows.holds(problem.queryRows) && entry.keys.holds(problem.keys) && entry.heads.holds(problem.heads);
}

bool isAmong(BlockTiles tiles, const TileProblem& problem, uint32_t tileRows, uint32_t tileKeys) {
    if (problem.maskBlock == 0) {
        return true;
    }
    return tiles == BlockTiles::whole
               ? tileRows >= leastRowsOfWholeBlocks && problem.keepsBlocksWhole(tileRows, tileKeys)
               : tileRows <= mostRowsOfCutBlocks;
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

Tile chooseScalarTile(const Caps& caps, const TileProblem& problem) {
    const Tile tuned = tunedTile(caps, problem);
    if (tuned.tuned) {
        return tuned;
    }
    const Tile tile = builtInTile(caps, problem, BlockTiles::whole);
    return tile.workgroupSize != 0 ? tile : builtInTile(caps, problem, BlockTiles::cut);
}

} // namespace vkf
