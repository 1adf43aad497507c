// SPDX-License-Identifier: MIT
#include "tiles/decode_tile.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "problem/problem.hpp"
#include "tiles/occupancy.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

constexpr uint32_t wordBytes = 16;

// A tile before the head dimensions are known. docs/tuning.md has the measurements, all on an H200.
struct Candidate {
    uint32_t mostRows;
    uint32_t lanes;
    uint32_t workgroupSize;
    bool fewKeys; // of use where larger tiles leave multiprocessors idle
};

// Best first. Rows share what is read, so as many as registers hold; few lanes a key leave few sums over lanes.
constexpr std::array candidates = {
    Candidate{8, 16, 128, true},  Candidate{8, 8, 128, false}, Candidate{8, 16, 128, false},
    Candidate{8, 32, 128, false}, Candidate{4, 8, 128, false}, Candidate{4, 16, 128, false},
    Candidate{4, 32, 128, false}, Candidate{2, 8, 128, false}, Candidate{2, 8, 64, false},
    Candidate{2, 32, 128, false}, Candidate{1, 8, 64, false},  Candidate{1, 4, 32, false},
};

// Words of k, and as many of v, that an invocation has in flight.
constexpr uint32_t fetchedWords = 8;
constexpr uint32_t mostThreadKeys = 4;
constexpr uint32_t mostRegisters = 160;

// Of the kernel on cooperative matrices. A matrix costs the same for one row as for sixteen; from four rows on, where
// plain arithmetic spends four instructions an element, it was faster, and one row is what plain arithmetic does best.
constexpr uint64_t mostPlainRows = 1;
constexpr uint32_t decodeSubgroups = 4; // of a workgroup, unless rows ask for more
constexpr uint32_t mostRowSubgroups = 8;
constexpr uint32_t mostSubgroupRows = 16; // of a subgroup, whose o and q are in its registers
constexpr uint32_t mostMatrixRegisters = 180;

// Of the kernel for wide heads: matrices of keys in a tile, best first. Larger tiles take fewer barriers a key and
// leave fewer parts to merge; two workgroups of the smaller one fit a multiprocessor.
constexpr std::array<uint32_t, 2> wideKeyMatrices = {2, 1};

// Keys are split until the last wave of workgroups is nearly full, or there are this many waves: half a wave too many
// cost a quarter (one row, 65536 keys: 49 splits 98 us, 32 splits 79).
constexpr uint64_t enoughWaves = 8;
constexpr double fullEnough = 0.9;

// Two workgroups of a multiprocessor keep its memory busy where k and v are plain; a third pays for its merge where
// parts have as many keys (16384 keys: 33 splits 23.8 us, 49 splits 24.2; 65536: both 68.3; eight sequences of 16384:
// two 130, three 128). Making elements of block types takes longer than reading them, and there a third is always
// better.
constexpr uint32_t busyWorkgroups = 2;
constexpr uint32_t keysOfBusyParts = 1024;

uint32_t laneWords(uint32_t dim, VkfType type, uint32_t lanes) {
    return VKF_LANE_WORDS(dim, static_cast<uint32_t>(type), lanes);
}

// Words of 4 bytes of one row of a block type in an invocation of the kernel on matrices.
uint32_t fetchedBlockWords(uint32_t dim, VkfType type, uint32_t lanes, uint32_t shares, uint32_t unit) {
    const auto stored = static_cast<uint32_t>(type);
    return VKF_LANE_CHUNKS(dim, lanes, shares) * VKF_FETCHED_WORDS(stored, shares, unit);
}

uint32_t rowWords(uint32_t dim, VkfType type) { return laneWords(dim, type, 1); }

DecodeTile tileOf(const Candidate& candidate, const DecodeProblem& problem) {
    DecodeTile tile;
    tile.workgroupSize = candidate.workgroupSize;
    tile.headDim = problem.headDim;
    tile.valueDim = problem.valueDim;
    tile.keyType = problem.keyType;
    tile.valueType = problem.valueType;
    const uint32_t words =
        std::max(rowWords(problem.headDim, problem.keyType), rowWords(problem.valueDim, problem.valueType));
    tile.lanes = std::min(candidate.lanes, std::bit_ceil(words));
    // Equal row tiles, so that the last is as full as the others.
    const uint64_t tiles = std::max<uint64_t>((problem.rows + candidate.mostRows - 1) / candidate.mostRows, 1);
    tile.threadRows = static_cast<uint32_t>(std::max<uint64_t>((problem.rows + tiles - 1) / tiles, 1));
    const uint32_t perKey = std::max(laneWords(problem.headDim, problem.keyType, tile.lanes),
                                     laneWords(problem.valueDim, problem.valueType, tile.lanes));
    tile.threadKeys = std::clamp(fetchedWords / perKey, 1U, mostThreadKeys);
    return tile;
}

// Workgroups that tiles of 64 keys would make.
uint64_t largeTiles(const DecodeProblem& problem) { return problem.keys / 64 * problem.kvHeads; }

Objection unfitness(uint32_t workgroupSize, uint32_t sharedBytes, const Caps& caps) {
    return firstObjection({
        {workgroupSize > caps.maxInvocations, {VKF_TILE_INVOCATIONS, workgroupSize, caps.maxInvocations}},
        {sharedBytes > caps.maxSharedMemoryBytes, {VKF_TILE_SHARED_MEMORY, sharedBytes, caps.maxSharedMemoryBytes}},
    });
}

// What stands against a plain tile.
Objection objectionTo(const Candidate& candidate, const DecodeTile& tile, const DecodeProblem& problem,
                      const Caps& caps) {
    const bool wide = tile.lanes > caps.subgroupSize;
    const bool ragged = caps.subgroupReductions() && (wide || tile.workgroupSize % caps.subgroupSize != 0);
    return unfitness(tile.workgroupSize, tile.sharedBytes(), caps)
        .orElse(firstObjection({
            {ragged, {VKF_TILE_SUBGROUPS, wide ? tile.lanes : tile.workgroupSize, caps.subgroupSize}},
            {candidate.fewKeys && largeTiles(problem) >= multiprocessors,
             {VKF_TILE_MANY_KEYS, largeTiles(problem), multiprocessors}},
            {tile.registers() > mostRegisters, {VKF_TILE_REGISTERS, tile.registers(), mostRegisters}},
        }));
}

// Whether rows of block types can be dealt to the lanes that load them in equal parts.
bool dealsBlocks(const DecodeMatrixTile& tile) {
    const uint32_t depthLanes = tile.layout.columnLanes() + 1;
    return (!isBlockType(tile.keyType) || VKF_DEALS_BLOCKS(tile.headDim, depthLanes)) &&
           (!isBlockType(tile.valueType) || VKF_DEALS_BLOCKS(tile.valueDim, tile.layout.lanes / depthLanes));
}

// What stands against the tile of matrices. Where loops are left as they are, matrices live in memory anyway.
Objection objectionTo(const DecodeMatrixTile& tile, const DecodeProblem& problem, const Caps& caps) {
    const bool spills = tile.registers() > mostMatrixRegisters && (caps.quirks & VKF_QUIRK_ROLLED_LOOPS) == 0;
    const bool fills = tile.layout.fillsFromRegisters() && tile.states <= VKF_DECODE_MOST_STATES && dealsBlocks(tile);
    return firstObjection({
                              {!fills, {VKF_TILE_LAYOUT, 0, 0}},
                              {problem.rows <= mostPlainRows, {VKF_TILE_FEW_ROWS, problem.rows, mostPlainRows}},
                          })
        .orElse(unfitness(tile.workgroupSize(), tile.sharedBytes(), caps))
        .orElse(firstObjection({{spills, {VKF_TILE_REGISTERS, tile.registers(), mostMatrixRegisters}}}));
}

// As many matrices for rows as there are rows for, up to mostSubgroupRows in a subgroup, then in as many subgroups; the
// others share the keys.
DecodeMatrixTile matrixTileOf(const MatrixLayout& layout, const DecodeProblem& problem) {
    DecodeMatrixTile tile;
    tile.layout = layout;
    tile.columns = layout.fewestColumns();
    const auto ofRows = [&problem](uint32_t rows) { return std::max<uint64_t>((problem.rows + rows - 1) / rows, 1); };
    tile.rowTiles = problem.rows > tile.columns ? std::max(mostSubgroupRows / std::max(tile.columns, 1U), 1U) : 1;
    tile.rowSubgroups = static_cast<uint32_t>(
        std::min<uint64_t>(std::bit_ceil(ofRows(tile.rowTiles * tile.columns)), mostRowSubgroups));
    tile.keySubgroups = std::max(decodeSubgroups / tile.rowSubgroups, 1U);
    // The first rows are those of the first state of each lane that holds a depth.
    const uint64_t most = uint64_t{tile.rowTiles} * tile.columns;
    const uint64_t rows = problem.moreRows ? most : std::min(problem.rows, most);
    tile.states = std::max(static_cast<uint32_t>((rows + layout.columnLanes()) / (layout.columnLanes() + 1)), 1U);
    tile.headDim = problem.headDim;
    tile.valueDim = problem.valueDim;
    tile.keyType = problem.keyType;
    tile.valueType = problem.valueType;
    tile.blockUnit = problem.blockUnit;
    return tile;
}

// What stands against a tile for wide heads. A row's invocations are neighbours in a subgroup, and q is staged in the
// place of keys.
Objection objectionTo(const DecodeWideTile& tile, const Caps& caps) {
    const MatrixLayout& layout = tile.layout;
    const bool square = layout.columns == layout.depth && layout.depth % 8 == 0;
    const bool suits = square && layout.elements() % 2 == 0 && std::has_single_bit(tile.keys()) &&
                       tile.keys() >= layout.rows && tile.keys() / 2 <= layout.lanes;
    return suits ? unfitness(tile.workgroupSize(), tile.sharedBytes(), caps) : Objection{VKF_TILE_LAYOUT, 0, 0};
}

// A tile with its splits, of any kind.
template <typename Plan, typename AnyTile>
void consider(const AnyTile& tile, uint32_t workgroupSize, const DecodeProblem& problem, const Objection& objection,
              TileSearch<DecodeChoice>& search) {
    const uint64_t items = (problem.rows + tile.rows() - 1) / tile.rows() * problem.kvHeads;
    const uint32_t resident = residentWorkgroups(workgroupSize, tile.registers(), tile.sharedBytes());
    const auto splitsFor = [&](uint32_t workgroups) {
        return chooseDecodeSplits(items, problem.keys, tile.keys(), multiprocessors * workgroups);
    };
    uint32_t splits = splitsFor(resident);
    if (problem.plain() && problem.keys / splits < keysOfBusyParts) {
        splits = splitsFor(std::min(resident, busyWorkgroups));
    }
    ConsideredTile considered;
    considered.tile = tileText(tile, splits);
    considered.rows = tile.rows();
    considered.keys = tile.keys();
    considered.workgroupSize = workgroupSize;
    considered.sharedBytes = tile.sharedBytes();
    considered.registers = tile.registers();
    considered.splits = splits;
    considered.workgroups = items * splits;
    considered.objection = objection;
    search.consider(Plan{tile, splits}, considered);
}

} // namespace

bool DecodeProblem::plain() const { return !isBlockType(keyType) && !isBlockType(valueType); }

uint32_t DecodeTile::sharedBytes() const {
    const auto key = static_cast<uint32_t>(keyType);
    const auto value = static_cast<uint32_t>(valueType);
    const uint32_t states = workgroupSize / lanes * threadRows; // of two floats
    return (VKF_DECODE_Q_WORDS(threadRows, headDim, key, lanes) +
            VKF_DECODE_O_WORDS(workgroupSize, valueDim, value, lanes)) *
               wordBytes +
           states * wordBytes / 2;
}

uint32_t DecodeTile::registers() const {
    const uint32_t keyWords = laneWords(headDim, keyType, lanes);
    const uint32_t valueWords = laneWords(valueDim, valueType, lanes);
    const uint32_t columns = valueWords * 4 * VKF_WORD_QUADS(static_cast<uint32_t>(valueType));
    return threadRows * (columns + threadKeys) + threadKeys * 4 * (keyWords + valueWords);
}

uint32_t chooseDecodeSplits(uint64_t items, uint32_t keys, uint32_t tileKeys, uint64_t slots) {
    const uint64_t most = std::clamp<uint64_t>((uint64_t{keys} + tileKeys - 1) / tileKeys, 1, VKF_MAX_SPLITS);
    if (items == 0) {
        return 1;
    }
    uint64_t splits = std::max<uint64_t>(slots / items, 1);
    while (splits * items < enoughWaves * slots) {
        const uint64_t workgroups = splits * items;
        const uint64_t waves = (workgroups + slots - 1) / slots;
        if (static_cast<double>(workgroups) >= fullEnough * static_cast<double>(waves * slots)) {
            break;
        }
        splits++;
    }
    return static_cast<uint32_t>(std::min(splits, most));
}

std::string tileText(const DecodeTile& tile, uint32_t splits) {
    return tileText({{"groups", tile.workgroupSize / tile.lanes},
                     {"lanes", tile.lanes},
                     {"threadRows", tile.threadRows},
                     {"threadKeys", tile.threadKeys},
                     {"splits", splits}});
}

uint32_t DecodeMatrixTile::sharedBytes() const {
    const uint32_t subgroups = rowSubgroups * keySubgroups;
    const uint32_t depthLanes = layout.columnLanes() + 1;
    const uint32_t rowLanes = layout.lanes / depthLanes;
    const uint32_t stagedColumns = VKF_LANE_WORDS(valueDim, VKF_STORED_F16, rowLanes) * 8 * rowLanes;
    const uint32_t pairs = subgroups * depthLanes * VKF_DECODE_STAGED_ROW(stagedColumns);
    const uint32_t statePairs = subgroups * rowTiles * columns;
    const uint32_t halvesOfP = subgroups * rowTiles * layout.rows * columns;
    return (pairs + statePairs) * wordBytes / 2 + halvesOfP * wordBytes / 8 + wordBytes; // and a flag
}

uint32_t DecodeMatrixTile::registers() const {
    const uint32_t depthLanes = layout.columnLanes() + 1;
    const uint32_t rowLanes = layout.lanes / depthLanes;
    const uint32_t slots = layout.elements() / layout.slotElements();
    const uint32_t ofRows = 4 * slots * VKF_LANE_WORDS(headDim, VKF_STORED_F16, depthLanes);
    // Words of eight columns of v, each of one key.
    const uint32_t values = layout.slotElements() * VKF_LANE_WORDS(valueDim, VKF_STORED_F16, rowLanes);
    const uint32_t ofK =
        isBlockType(keyType)
            ? slots * fetchedBlockWords(headDim, keyType, depthLanes, VKF_KEY_SHARES(headDim, depthLanes), blockUnit)
            : ofRows;
    const uint32_t ofV = isBlockType(valueType) ? layout.slotElements() *
                                                      fetchedBlockWords(valueDim, valueType, rowLanes,
                                                                        VKF_VALUE_SHARES(valueDim, rowLanes), blockUnit)
                                                : 4 * values;
    // q, o and s of as many query rows as a tile has keys, and of how many it has.
    const uint32_t ofQueries = ofRows + 8 * values + layout.elements();
    // Elements of blocks on their way to a matrix, beside what other kernels need.
    const uint32_t ofElements = isBlockType(keyType) || isBlockType(valueType) ? 24 : 0;
    return ofK + ofV + ofElements + ofQueries * rowTiles * columns / layout.rows;
}

std::string tileText(const DecodeMatrixTile& tile, uint32_t splits) {
    return tileText({{"rowSubgroups", tile.rowSubgroups},
                     {"rowTiles", tile.rowTiles},
                     {"keySubgroups", tile.keySubgroups},
                     {"splits", splits}});
}

uint32_t DecodeWideTile::sharedBytes() const {
    const uint32_t words = keys() * VKF_WIDE_ROW_WORDS(headDim, valueDim, layout.depth, depthSubgroups(), subgroups());
    const uint32_t matrixFloats = layout.rows * layout.columns;
    const uint32_t floats = (subgroups() + 1) * matrixFloats + rows() * keys() / 2 + keys() + 1;
    return words * wordBytes + floats * wordBytes / 4;
}

uint32_t DecodeWideTile::registers() const {
    const uint32_t fetched = (keys() * headDim / 8 + workgroupSize() - 1) / workgroupSize();
    const uint32_t halves = layout.rows * layout.depth / layout.lanes; // of a left operand
    return 4 * fetched + VKF_WIDE_TILES(headDim, layout.depth, depthSubgroups()) * halves / 2 +
           (VKF_WIDE_TILES(valueDim, layout.columns, subgroups()) + 1) * layout.elements();
}

std::string tileText(const DecodeWideTile& tile, uint32_t splits) {
    return tileText({{"keyMatrices", tile.keyMatrices}, {"subgroups", tile.subgroups()}, {"splits", splits}});
}

DecodeChoice chooseDecodeTile(const Caps& caps, const MatrixLayout* layout, const DecodeProblem& problem,
                              ConsideredTiles* considered) {
    TileSearch<DecodeChoice> search;
    if (layout != nullptr && problem.wide()) {
        for (const uint32_t keyMatrices : wideKeyMatrices) {
            const DecodeWideTile tile{*layout, keyMatrices, problem.headDim, problem.valueDim};
            if (tile.rows() == 0) {
                break; // a device without matrices
            }
            consider<DecodeWidePlan>(tile, tile.workgroupSize(), problem, objectionTo(tile, caps), search);
        }
    } else if (layout != nullptr) {
        const DecodeMatrixTile tile = matrixTileOf(*layout, problem);
        consider<DecodeMatrixPlan>(tile, tile.workgroupSize(), problem, objectionTo(tile, problem, caps), search);
    }
    for (const Candidate& candidate : candidates) {
        const DecodeTile tile = tileOf(candidate, problem);
        consider<DecodePlan>(tile, tile.workgroupSize, problem, objectionTo(candidate, tile, problem, caps), search);
    }
    return search.finish(considered);
}

} // namespace vkf
