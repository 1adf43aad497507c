// SPDX-License-Identifier: MIT
#include "tiles/tile_problem.hpp"

#include <algorithm>
#include <climits>
#include <optional>

#include "device/matrix_support.hpp"
#include "problem/masks/chosen_keys.hpp"
#include "problem/masks/positions.hpp"
#include "problem/strides.hpp"

namespace vkf {

// These paths read k and v once for all query heads of a KV head. A block mask can differ from head to head.
uint32_t packedHeads(VkfPath path, const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    const bool packs = path == VKF_PATH_DECODE || path == VKF_PATH_COOPMAT || path == VKF_PATH_WGMMA;
    return packs && !has(p, VKF_USE_BLOCK_MASK) && !problem.empty ? p.queryHeads / p.kvHeads : 1;
}

bool walksTiles(VkfPath path) { return path == VKF_PATH_SCALAR || path == VKF_PATH_COOPMAT || path == VKF_PATH_WGMMA; }

uint64_t tilesOfRows(const CheckedProblem& problem, uint32_t packedHeads, uint32_t tileRows) {
    const VkfProblem& p = problem.fields;
    if (has(p, VKF_USE_CU_SEQLENS)) {
        const SequenceTiles tiles = sequenceTiles(p, packedHeads, tileRows);
        return sequenceTileCount(p, tiles.packedHeads, tiles.tileRows);
    }
    return hasListsByRow(p) ? uint64_t{p.queryRows} * VKF_TILES(packedHeads, tileRows)
                            : VKF_TILES(VKF_PACKED_ROWS(uint64_t{p.queryRows}, packedHeads), tileRows);
}

SequenceTiles sequenceTiles(const VkfProblem& p, uint32_t packedHeads, uint32_t tileRows) {
    return hasListsByRow(p) ? SequenceTiles{VKF_TILES(packedHeads, tileRows), 1} : SequenceTiles{packedHeads, tileRows};
}

uint32_t rowsSharingTiles(const VkfProblem& p) { return hasListsByRow(p) ? 1 : typicalRows(p); }
uint64_t sequencesOfTiles(const VkfProblem& p) {
    return uint64_t{typicalSequences(p)} * (hasListsByRow(p) ? typicalRows(p) : 1);
}

bool masksFewLastKeys(const VkfProblem& p) {
    constexpr uint32_t fewKeys = 512;
    return has(p, VKF_USE_MASK) && p.mask.lastKeys != 0 && p.mask.lastKeys <= fewKeys;
}

TileProblem tileProblem(VkfPath path, const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    const bool oneType = p.k.type == p.q.type && p.v.type == p.q.type && p.o.type == p.q.type;
    return {p.headDim,
            p.valueDim,
            rowsSharingTiles(p),
            sequencesOfTiles(p) * p.queryHeads,
            p.o.type == VKF_TYPE_F32,
            typicalVisibleKeys(problem),
            problem.windowed(),
            path,
            oneType ? std::optional(p.q.type) : std::nullopt,
            p.blockMask.blockSize,
            packedHeads(path, problem),
            has(p, VKF_USE_BIAS) ? static_cast<uint32_t>(vkfStoredBytes(p.bias.type, 1) * CHAR_BIT) : 0,
            path == VKF_PATH_COOPMAT && usesBf16x3(p),
            (has(p, VKF_USE_MASK) && !masksFewLastKeys(p)) || has(p, VKF_USE_CHOSEN_KEYS),
            !inWholeWords(problem.layout(VKF_TENSOR_Q)) || !inWholeWords(problem.layout(VKF_TENSOR_K)) ||
                !inWholeWords(problem.layout(VKF_TENSOR_V))};
}

double maxVisibleKeys(const CheckedProblem& problem, uint32_t tileRows) {
    const double keys = mostKeysOf(problem.fields);
    if (problem.windowLeft < 0 || problem.windowRight < 0) {
        return keys;
    }
    const double positions = static_cast<double>(problem.windowLeft) + static_cast<double>(problem.windowRight) + 1.0 +
                             static_cast<double>(tileRows) * static_cast<double>(rowStrideOf(problem.fields));
    return std::min(keys, positions / static_cast<double>(keyStrideOf(problem.fields)) + problem.firstKeys());
}

uint32_t typicalVisibleKeys(const CheckedProblem& problem) {
    const uint32_t keys = typicalKeys(problem.fields);
    return problem.fields.splitKeys != 0 ? keys
                                         : static_cast<uint32_t>(std::min<double>(maxVisibleKeys(problem), keys));
}

double callOperations(const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    return visiblePairs(problem) * p.batch * p.queryHeads * 2.0 * (static_cast<double>(p.headDim) + p.valueDim);
}

double backwardOperations(const CheckedProblem& forward) {
    constexpr double productsRatio = 2.5; // five products instead of two
    return productsRatio * callOperations(forward);
}

double tileOperations(const CheckedProblem& problem, uint32_t tileRows) {
    const double columns = static_cast<double>(problem.fields.headDim) + problem.fields.valueDim;
    return 2.0 * tileRows * maxVisibleKeys(problem, tileRows) * columns;
}

} // namespace vkf
