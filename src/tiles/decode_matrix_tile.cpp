// SPDX-License-Identifier: MIT
#include "tiles/decode_matrix_tile.hpp"

#include <algorithm>
#include <bit>

#include "shared/stored_types.h"
#include "shared/tile_memory.h"
#include "tiles/decode_choice.hpp"
#include "tiles/objections.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

constexpr uint32_t wordBytes = 16;

// A matrix costs the same for one row as for sixteen. One row is what plain arithmetic does best. Matrices are faster
// from four rows on, where plain arithmetic takes four instructions for each element.
constexpr uint64_t mostPlainRows = 1;
constexpr uint32_t usualSubgroups = 4; // of a workgroup, unless the rows need more
constexpr uint32_t mostRowSubgroups = 8;
constexpr uint32_t mostSubgroupRows = 16; // a subgroup holds o and q of its rows in registers
constexpr uint32_t mostRegisters = 180;

// Words of 4 bytes of one row of a block type in one invocation.
uint32_t fetchedBlockWords(uint32_t dim, VkfType type, uint32_t lanes, uint32_t shares, uint32_t unit) {
    const auto stored = static_cast<uint32_t>(type);
    return VKF_LANE_CHUNKS(dim, lanes, shares) * VKF_FETCHED_WORDS(stored, shares, unit);
}

// Whether the lanes that load rows of block types get equal parts.
bool dealsBlocks(const DecodeMatrixTile& tile) {
    const uint32_t depthLanes = tile.layout.columnLanes() + 1;
    return (!isBlockType(tile.keyType) || VKF_DEALS_BLOCKS(tile.headDim, depthLanes)) &&
           (!isBlockType(tile.valueType) || VKF_DEALS_BLOCKS(tile.valueDim, tile.layout.lanes / depthLanes));
}

// A subgroup takes as many matrices of rows as needed, up to mostSubgroupRows. More rows go to more subgroups. The
// other subgroups share the keys.
DecodeMatrixTile tileOf(const MatrixLayout& layout, const DecodeProblem& problem) {
    DecodeMatrixTile tile;
    tile.layout = layout;
    tile.columns = layout.fewestColumns();
    const auto ofRows = [&problem](uint32_t rows) { return std::max<uint64_t>((problem.rows + rows - 1) / rows, 1); };
    tile.rowTiles = problem.rows > tile.columns ? std::max(mostSubgroupRows / std::max(tile.columns, 1U), 1U) : 1;
    tile.rowSubgroups = static_cast<uint32_t>(
        std::min<uint64_t>(std::bit_ceil(ofRows(tile.rowTiles * tile.columns)), mostRowSubgroups));
    tile.keySubgroups = std::max(usualSubgroups / tile.rowSubgroups, 1U);
    // The first state of each lane along the depth has the first rows.
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

} // namespace

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
    // q, o and s of as many query rows as a matrix has rows. The tile has rowTiles * columns query rows.
    const uint32_t ofQueries = ofRows + 8 * values + layout.elements();
    // Decoded elements of blocks on their way to a matrix.
    const uint32_t ofElements = isBlockType(keyType) || isBlockType(valueType) ? 24 : 0;
    return ofK + ofV + ofElements + ofQueries * rowTiles * columns / layout.rows;
}

std::string DecodeMatrixTile::text(uint32_t splits) const {
    return tileText(
        {{"rowSubgroups", rowSubgroups}, {"rowTiles", rowTiles}, {"keySubgroups", keySubgroups}, {"splits", splits}});
}

// Drivers that compile for a CPU keep matrices in memory anyway, and registers do not count there.
void considerDecodeMatrixTile(const Caps& caps, const MatrixLayout& layout, const DecodeProblem& problem,
                              DecodeSearch& search) {
    const DecodeMatrixTile tile = tileOf(layout, problem);
    const bool fills = layout.fillsFromRegisters() && tile.states <= VKF_DECODE_MOST_STATES && dealsBlocks(tile);
    const bool inMemory = (caps.quirks & VKF_QUIRK_ROLLED_LOOPS) != 0;
    considerWithSplits(tile, problem,
                       firstOf({
                           objectionIf(!fills, {VKF_TILE_LAYOUT, 0, 0}),
                           objectionIf(problem.rows <= mostPlainRows, {VKF_TILE_FEW_ROWS, problem.rows, mostPlainRows}),
                           exceedsDevice(tile, caps),
                           inMemory ? Objection{} : spillsRegisters(tile.registers(), mostRegisters),
                       }),
                       search);
}

} // namespace vkf
