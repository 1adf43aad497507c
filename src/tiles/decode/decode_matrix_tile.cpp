// SPDX-License-Identifier: MIT
#include "tiles/decode/decode_matrix_tile.hpp"

#include <algorithm>
#include <bit>

#include "shared/stored_types.h"
#include "shared/tile_memory.h"
#include "tiles/decode/decode_choice.hpp"
#include "tiles/rejections.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

constexpr uint32_t maxRowSubgroups = 8;
constexpr uint32_t maxSubgroupRows = 16; // a subgroup holds o and q of its rows in registers
constexpr uint32_t maxDecodeMatrixRegisters = 180;

// Words of 4 bytes of one row of a block type in one invocation.
uint32_t fetchedBlockWords(uint32_t dim, VkfType type, uint32_t lanes, uint32_t chunksPerBlock, uint32_t unit) {
    const auto stored = static_cast<uint32_t>(type);
    return VKF_LANE_CHUNKS(dim, lanes, chunksPerBlock) * VKF_FETCHED_WORDS(stored, chunksPerBlock, unit);
}

// Whether the lanes that load rows of block types get equally many chunks.
bool dividesBlocks(const DecodeMatrixTile& tile) {
    const uint32_t depthLanes = tile.layout.columnLanes() + 1;
    return (!isBlockType(tile.keyType) || VKF_SPLITS_BLOCKS_EVENLY(tile.headDim, depthLanes)) &&
           (!isBlockType(tile.valueType) || VKF_SPLITS_BLOCKS_EVENLY(tile.valueDim, tile.layout.lanes / depthLanes));
}

// A subgroup takes as many matrices of rows as needed, up to maxSubgroupRows. More rows go to more subgroups. The
// other subgroups, of `subgroups` in all, share the keys.
DecodeMatrixTile tileOf(const Chip::DecodeMatrix& chip, const MatrixLayout& layout, const DecodeProblem& problem,
                        uint32_t subgroups) {
    DecodeMatrixTile tile;
    tile.layout = layout;
    tile.columns = layout.fewestColumns();
    const auto ofRows = [&problem](uint32_t rows) { return std::max<uint64_t>((problem.rows + rows - 1) / rows, 1); };
    const bool fillsHalf = !problem.moreRows && problem.rows <= tile.columns / 2;
    tile.keyColumns = fillsHalf && problem.valueDim >= chip.minDimOfTwoColumns ? 2 : 1;
    const uint32_t queries = std::max(tile.matrixPackedRows(), 1U);
    tile.rowMatrices = problem.rows > queries ? std::max(maxSubgroupRows / queries, 1U) : 1;
    tile.rowSubgroups =
        static_cast<uint32_t>(std::min<uint64_t>(std::bit_ceil(ofRows(tile.rowMatrices * queries)), maxRowSubgroups));
    tile.keySubgroups = std::max(subgroups / tile.rowSubgroups, 1U);
    // The first rows are lane row 0 of the lanes along the depth.
    const uint64_t most = uint64_t{tile.rowMatrices} * queries;
    const uint64_t rows = problem.moreRows ? most : std::min(problem.rows, most);
    const uint32_t laneRowStride = std::max(tile.laneRowStride(), 1U);
    tile.laneRows = std::max(static_cast<uint32_t>((rows + laneRowStride - 1) / laneRowStride), 1U);
    tile.headDim = problem.headDim;
    tile.valueDim = problem.valueDim;
    tile.keyType = problem.keyType;
    tile.valueType = problem.valueType;
    tile.blockUnit = problem.blockUnit;
    tile.keyOffsets32 = problem.keyOffsets32;
    return tile;
}

// Decoded elements of blocks, before they enter a matrix. The machine code of q8_0 and q4_0 with two columns of each
// key keeps them in registers that residentWorkgroups adds to every tile: it has 126 and 122 registers with D = 128.
// That of fp8 types has fewer words in flight than q8_0.
uint32_t elementRegisters(const DecodeMatrixTile& tile) {
    constexpr uint32_t usual = 24;
    const auto isLean = [](VkfType type) {
        return !isBlockType(type) || type == VKF_TYPE_Q8_0 || type == VKF_TYPE_Q4_0 || isFp8(type);
    };
    const bool hasBlocks = isBlockType(tile.keyType) || isBlockType(tile.valueType);
    return !hasBlocks || (tile.keyColumns == 2 && isLean(tile.keyType) && isLean(tile.valueType)) ? 0 : usual;
}

// Whether a workgroup of as many subgroups as for many keys is faster, if it fits the device.
bool hasManyKeys(const Chip::DecodeMatrix& chip, const DecodeProblem& problem, const DecodeMatrixTile& tile) {
    return problem.keys * problem.kvHeads >= chip.manyKeys * multiprocessors && problem.rows > chip.maxPlainRows &&
           !problem.hasBlocks() && tile.keyColumns == 2;
}

// Drivers that compile for a CPU keep matrices in memory anyway, and registers do not count there. Two columns of each
// key take fewer registers, but do not make a tile fit that would spill with one.
void considerTile(const Caps& caps, const DecodeProblem& problem, const DecodeMatrixTile& tile, DecodeSearch& search) {
    const Chip::DecodeMatrix& chip = chipOf(caps).decodeMatrix;
    const bool fills = tile.layout.fillsFromRegisters() && tile.laneRows <= VKF_MAX_LANE_ROWS && dividesBlocks(tile);
    DecodeMatrixTile oneColumn = tile;
    oneColumn.keyColumns = 1;
    const bool inMemory = (caps.quirks & VKF_QUIRK_ROLLED_LOOPS) != 0;
    considerWithSplits(
        caps, tile, problem,
        firstOf({
            rejectIf(!fills, {VKF_TILE_LAYOUT, 0, 0}),
            rejectIf(problem.rows <= chip.maxPlainRows, {VKF_TILE_FEW_ROWS, problem.rows, chip.maxPlainRows}),
            exceedsDevice(tile, caps),
            inMemory ? Rejection{} : spillsRegisters(oneColumn.registers(), maxDecodeMatrixRegisters),
        }),
        search);
}

} // namespace

uint32_t DecodeMatrixTile::matrixPackedRows() const {
    return VKF_DECODE_MATRIX_PACKED_ROWS(columns, splitsColumnPairs());
}

uint32_t DecodeMatrixTile::laneRowStride() const {
    return VKF_LANE_ROW_STRIDE(layout.columnLanes() + 1, splitsColumnPairs());
}

uint32_t DecodeMatrixTile::stagedWordsOfP() const {
    return keyColumns == 1 ? rowMatrices * layout.rows * columns / 2 : columns / 2 * VKF_DECODE_P_ROW(layout.rows);
}

uint32_t DecodeMatrixTile::sharedBytes() const {
    constexpr uint32_t flags = 4 * VKF_WORD_BYTES; // and the stage of p that is not used
    const uint32_t subgroups = rowSubgroups * keySubgroups;
    const uint32_t rowLanes = layout.lanes / (layout.columnLanes() + 1);
    const uint32_t stagedColumns = VKF_LANE_WORDS(valueDim, VKF_STORED_F16, rowLanes) * 8 * rowLanes;
    const uint32_t pairs = subgroups * laneRowStride() * VKF_DECODE_STAGED_ROW(stagedColumns);
    const uint32_t statePairs = subgroups * rowMatrices * matrixPackedRows();
    return (pairs + statePairs) * VKF_WORD_BYTES / 2 + subgroups * stagedWordsOfP() * VKF_WORD_BYTES / 4 + flags;
}

uint32_t DecodeMatrixTile::registers() const {
    const uint32_t depthLanes = layout.columnLanes() + 1;
    const uint32_t rowLanes = layout.lanes / depthLanes;
    const uint32_t fragmentRows = layout.elements() / layout.fragmentRowElements();
    const uint32_t ofRows = 4 * fragmentRows * VKF_LANE_WORDS(headDim, VKF_STORED_F16, depthLanes);
    const uint32_t valueKeys = layout.fragmentRowElements() * (splitsColumnPairs() ? 2 : 1);
    const uint32_t valuePairs = 4 * VKF_LANE_WORDS(valueDim, VKF_STORED_F16, rowLanes);
    const uint32_t ofK =
        isBlockType(keyType)
            ? fragmentRows * fetchedBlockWords(headDim, keyType, depthLanes,
                                               VKF_KEY_CHUNKS_PER_BLOCK(headDim, depthLanes, keyType), blockUnit)
            : ofRows;
    const uint32_t ofV = valueKeys * (isBlockType(valueType)
                                          ? fetchedBlockWords(valueDim, valueType, rowLanes,
                                                              VKF_VALUE_CHUNKS_PER_BLOCK(valueDim, rowLanes), blockUnit)
                                          : valuePairs);
    // q, o and s of as many packed rows as a matrix has rows. The tile's matrices have fewer columns.
    const uint32_t ofOutput = (valuePairs * 2 / keyColumns + fragmentRows - 1) / fragmentRows * layout.elements();
    const uint32_t ofQueries = ofRows + ofOutput + layout.elements();
    return ofK + ofV + elementRegisters(*this) + ofQueries * rowMatrices * columns / layout.rows;
}

std::string DecodeMatrixTile::text(uint32_t splits) const {
    return tileText({{"rowSubgroups", rowSubgroups},
                     {"rowTiles", rowMatrices},
                     {"keySubgroups", keySubgroups},
                     {"splits", splits}});
}

void considerDecodeMatrixTile(const Caps& caps, const MatrixLayout& layout, const DecodeProblem& problem,
                              DecodeSearch& search) {
    const Chip::DecodeMatrix& chip = chipOf(caps).decodeMatrix;
    const DecodeMatrixTile large = tileOf(chip, layout, problem, chip.subgroupsOfManyKeys);
    if (hasManyKeys(chip, problem, large) || staysUnsplit(chipOf(caps).decode, problem.keys, large.keys())) {
        considerTile(caps, problem, large, search);
    }
    considerTile(caps, problem, tileOf(chip, layout, problem, chip.usualSubgroups), search);
}

} // namespace vkf
