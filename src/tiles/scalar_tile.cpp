// SPDX-License-Identifier: MIT
#include "tiles/scalar_tile.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "shared/attention_params.h"
#include "tiles/occupancy.hpp"
#include "tiles/tuning_file.hpp"

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
    uint32_t leastParts;      // the same of path scalar, whose splits count
};

// Best first. Columns of q and k are staged 32 at a time, because in fp32 they are a cache line: 16 cost
// 15 % on an NVIDIA H200.
constexpr std::array candidates = {
    // Two workgroups fit a multiprocessor of the H200, whose driver was seen to give workgroups 48 KiB of
    // shared memory together. Where even splits leave multiprocessors idle, half of the rows take half of the time.
    Candidate{8, 16, 8, 4, 8, 16, 1, 128, false, 0, 120},
    // One workgroup of twice the rows: eight rows an invocation halve the reads of v. Packing that many
    // 16-bit outputs makes the H200's compiler move the accumulators to memory, at half the speed. With fewer
    // workgroups than multiprocessors, 132, some idle. A device with few multiprocessors hardly cares.
    Candidate{16, 16, 8, 4, 8, 16, 129, 256, true, 128, 128},
    Candidate{8, 16, 4, 4, 8, 16, 1, 256, false, 0, 0},
    Candidate{8, 16, 4, 2, 8, 16, 1, 256, false, 0, 0},
    Candidate{16, 8, 4, 4, 8, 16, 1, 256, false, 0, 0},
    Candidate{8, 8, 4, 4, 8, 16, 1, 256, false, 0, 0},
    Candidate{8, 8, 2, 4, 8, 8, 1, 256, false, 0, 0},
    Candidate{8, 16, 2, 2, 8, 16, 1, 256, false, 0, 0},
    Candidate{16, 4, 2, 4, 8, 8, 1, 256, false, 0, 0},
    Candidate{32, 4, 1, 4, 8, 8, 1, 256, false, 0, 0},
};

// What splits cost and gain on an H200, in microseconds, from the times of 16 heads of 512 to 2048 rows
// (docs/tuning.md): a tile of 64 rows and keys of D = 128 takes a workgroup 14 alone, and 20 beside another.
constexpr double operationsOfMultiprocessor = 2.1e5; // in one of them
constexpr double aloneTakes = 1.4;                   // as long as a full multiprocessor for as much
constexpr double beginningAndEnd = 5;                // of a workgroup
constexpr double merge = 5;
constexpr double partBytes = 3e6; // in one of them
constexpr double worthIt = 0.9;   // of the time with fewer splits
constexpr uint32_t leastSplitKeys = 64;
constexpr uint64_t enoughWaves = 8; // so that scratch memory stays within bounds

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

// How long the tile takes with so many splits, in microseconds.
double timeOf(const Tile& tile, const TileProblem& problem, uint64_t splits) {
    const auto parts = [](uint64_t count, uint64_t size) { return (count + size - 1) / size; };
    const uint64_t resident = residentWorkgroups(tile.workgroupSize, tile.registers(), tile.sharedBytes());
    const uint64_t ofMultiprocessor = parts(problem.workgroups(tile.rows()) * splits, multiprocessors);
    const uint64_t rest = ofMultiprocessor % resident;
    const double alone = rest == 1 ? aloneTakes : static_cast<double>(rest);
    const double inTurn = static_cast<double>(ofMultiprocessor - rest) + alone;
    const double columns = static_cast<double>(problem.headDim) + problem.valueDim;
    const double ofTile = 2.0 * tile.rows() * tile.keys() * columns / operationsOfMultiprocessor;
    const auto tiles = static_cast<double>(parts(parts(problem.keys, tile.keys()), splits));
    const double time =
        tiles * ofTile * inTurn + static_cast<double>(parts(ofMultiprocessor, resident)) * beginningAndEnd;
    const double scratch =
        2.0 * sizeof(float) * static_cast<double>(problem.heads * problem.queryRows * splits) * problem.valueDim;
    return splits == 1 ? time : time + merge + scratch / partBytes;
}

// Why a tile that fits is not a good one for the problem.
Objection weakness(const Candidate& candidate, const Tile& tile, const TileProblem& problem) {
    const uint64_t manyRows = uint64_t{2} * std::max(problem.queryRows, 8U);
    const uint64_t workgroups = problem.workgroups(tile.rows()) * tile.splits;
    const uint32_t least = problem.path == VKF_PATH_SCALAR ? candidate.leastParts : candidate.leastWorkgroups;
    return firstObjection({
        {tile.registers() > mostRegisters, {VKF_TILE_REGISTERS, tile.registers(), mostRegisters}},
        {tile.rows() >= manyRows, {VKF_TILE_HALF_EMPTY, tile.rows(), manyRows}},
        {workgroups < least, {VKF_TILE_FEW_WORKGROUPS, workgroups, least}},
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
    considered.splits = tile.splits;
    considered.workgroups = problem.workgroups(tile.rows()) * tile.splits;
    considered.objection = objection;
    considered.fromTuning = tile.tuned;
    return considered;
}

// The entries that are about the problem.
void considerTuned(const TunedDevice& device, const TileProblem& problem, TileSearch<Tile>& search) {
    const Caps& caps = device.caps;
    for (const TuningEntry& entry : device.tuning) {
        if (!isAbout(entry, problem)) {
            continue;
        }
        const TunedScalarTile& t = entry.scalar;
        Tile tile = tileOf(
            {t.groups, t.lanes, t.threadRows, t.threadKeys, t.chunkDim4, t.chunkKeys, 1, VKF_MAX_DIM, false, 0, 0},
            caps, problem.headDim, problem.valueDim);
        tile.splits = t.splits;
        tile.tuned = true;
        const uint64_t parts = problem.heads * problem.queryRows;
        const uint64_t most = caps.storage16() ? std::numeric_limits<uint32_t>::max() : parts; // the merge needs it
        const bool whole = problem.keepsBlocksWhole(tile.rows(), tile.keys());
        const Objection strange = firstObjection({
            {tile.registers() > mostTunedRegisters, {VKF_TILE_REGISTERS, tile.registers(), mostTunedRegisters}},
            {parts > most / t.splits, {VKF_TILE_PARTS, parts * t.splits, most}},
            {!whole, {VKF_TILE_BLOCKS, tile.rows(), problem.maskBlock}},
        });
        search.consider(tile, consideredTile(tile, problem, unfitness(tile, caps).orElse(strange)));
    }
}

void considerBuiltIn(const Caps& caps, const TileProblem& problem, BlockTiles tiles, TileSearch<Tile>& search) {
    for (const Candidate& candidate : candidates) {
        Tile tile = tileOf(candidate, caps, problem.headDim, problem.valueDim);
        tile.splits = problem.path == VKF_PATH_SCALAR && caps.storage16() ? chooseScalarSplits(tile, problem) : 1;
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
    return tileText(
        TunedScalarTile{workgroupSize / lanes, lanes, threadRows, threadKeys, chunkDim4, chunkKeys, splits});
}

uint32_t chooseScalarSplits(const Tile& tile, const TileProblem& problem) {
    const uint64_t workgroups = problem.workgroups(tile.rows());
    const uint64_t slots =
        multiprocessors * residentWorkgroups(tile.workgroupSize, tile.registers(), tile.sharedBytes());
    const uint64_t most = std::min<uint64_t>(problem.keys / leastSplitKeys, VKF_MAX_SPLITS);
    uint32_t best = 1;
    double least = timeOf(tile, problem, 1);
    for (uint32_t splits = 2; splits <= most && splits * workgroups <= enoughWaves * slots; splits++) {
        const double time = timeOf(tile, problem, splits);
        if (time < worthIt * least) {
            least = time;
            best = splits;
        }
    }
    return best;
}

Tile chooseScalarTile(const TunedDevice& device, const TileProblem& problem, ConsideredTiles* considered) {
    TileSearch<Tile> search;
    considerTuned(device, problem, search);
    considerBuiltIn(device.caps, problem, BlockTiles::whole, search);
    if (!search.found()) {
        considerBuiltIn(device.caps, problem, BlockTiles::cut, search);
    }
    return search.finish(considered);
}

} // namespace vkf
