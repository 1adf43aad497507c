// SPDX-License-Identifier: MIT
#include "planning/decide/tile_map.hpp"

#include "device/chips.hpp"
#include "planning/tile_map_sizes.hpp"
#include "problem/masks/mask_layout.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

// A mask of few last keys needs no map: all tiles but the last ones are full.
bool hasMaskForMap(const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    const bool mapsMask = has(p, VKF_USE_MASK) && !masksFewLastKeys(p);
    return mapsMask || has(p, VKF_USE_DOCUMENT_IDS) || hasFunction(p, VKF_FUNCTION_KEEP);
}

// First keys beside a window need a map, so that the kernel asks no key of the tiles that are full. The kernel of path
// wgmma knows these tiles without a map. What pays depends on the batch, on which a call with splitKeys must not
// depend.
bool mapsFirstKeys(const Caps& caps, const CheckedProblem& problem, VkfPath path) {
    return path != VKF_PATH_WGMMA && problem.firstKeys() != 0 && problem.fields.splitKeys == 0 &&
           mapPays(caps, callOperations(problem), 0);
}

// A call of packed sequences has no map, because its tiles of rows are numbered by sequence. A call with lists of
// chosen keys has none, because each row has tiles of its own keys. Their kernels ask per-key masks about every key.
bool wantsMap(const Caps& caps, const CheckedProblem& problem, VkfPath path) {
    const VkfProblem& p = problem.fields;
    const bool hides = hasMaskForMap(problem) || mapsBias(caps, problem) || mapsFirstKeys(caps, problem, path);
    return walksTiles(path) && hides && !has(p, VKF_USE_CU_SEQLENS) && !has(p, VKF_USE_CHOSEN_KEYS) && p.keys != 0 &&
           !problem.empty;
}

bool differsByHead(const VkfProblem& p, const VkfBroadcastArray& array) {
    return repeatedCount(array.heads, p.queryHeads) > 1 && array.headStride != 0;
}

// Whether each head needs its own map. `bias`: the map looks at the bias.
bool needsHeads(const VkfProblem& p, bool bias) {
    return hasFunction(p, VKF_FUNCTION_KEEP_BY_HEAD) || (has(p, VKF_USE_MASK) && differsByHead(p, p.mask)) ||
           (bias && differsByHead(p, p.bias)) ||
           (has(p, VKF_USE_BLOCK_MASK) && p.queryHeads > 1 && p.blockMask.headStride != 0);
}

bool differsBySequence(const VkfProblem& p, const VkfBroadcastArray& array) {
    return repeatedCount(array.sequences, p.batch) > 1 && array.batchStride != 0;
}

// Whether one map serves all heads of all sequences. Only kernels with functions can read such a map.
bool isOfAll(const VkfProblem& p, bool bias) {
    const bool differs =
        has(p, VKF_USE_KEY_LENGTHS) || has(p, VKF_USE_DOCUMENT_IDS) || hasFunction(p, VKF_FUNCTION_KEEP_BY_SEQUENCE) ||
        (has(p, VKF_USE_MASK) && differsBySequence(p, p.mask)) || (bias && differsBySequence(p, p.bias)) ||
        (has(p, VKF_USE_BLOCK_MASK) && p.blockMask.batchStride != 0);
    return has(p, VKF_USE_FUNCTIONS) && p.batch > 1 && !differs && !needsHeads(p, bias);
}

// The classes of rows, in the order of their phases. The last phases begin while workgroups of the first still compute.
// Where the bias is a mask, their workgroups end at once, on multiprocessors that have nothing else to do. Path scalar,
// and a kernel with per-key masks or a block mask, need the map in every class.
std::vector<uint32_t> rowClasses(const CheckedProblem& problem, VkfPath path) {
    if (path == VKF_PATH_COOPMAT && !problem.hasPerKeyMasks() && !has(problem.fields, VKF_USE_BLOCK_MASK)) {
        return {VKF_ROWS_BIAS_MASK, VKF_ROWS_BIASED, VKF_ROWS_DENSE};
    }
    return {VKF_ROWS_BIAS_MASK, VKF_ROWS_BIASED};
}

// The most work items that a class of rows can have. A tile of the map whose last rows do not exist has work items for
// them too.
uint64_t itemsOfClasses(const CheckedProblem& problem, const Decision& decision, bool bias) {
    const VkfProblem& p = problem.fields;
    const uint32_t packed = decision.packedHeads;
    const uint64_t heads = uint64_t{p.batch} * p.queryHeads / packed * decision.splits;
    if (!bias || !decision.biasMaskTile) {
        return heads * tilesOfRows(problem, packed, decision.tile.rows);
    }
    const BiasMaskTile& masked = *decision.biasMaskTile;
    return heads * tilesOfRows(problem, packed, masked.rows) * (masked.rows / decision.tile.rows);
}

} // namespace

bool mapPays(const Caps& caps, double operations, double bytes) {
    const Chip::TileMap& chip = chipOf(caps).tileMap;
    return chip.savedFraction * operations / chip.operations > bytes / chip.bytes + chip.fixed;
}

bool mapsBias(const Caps& caps, const CheckedProblem& problem) {
    const VkfProblem& p = problem.fields;
    // What pays depends on the batch, on which a call with splitKeys must not depend.
    if (!has(p, VKF_USE_BIAS) || p.splitKeys != 0 || has(p, VKF_USE_CU_SEQLENS) || has(p, VKF_USE_CHOSEN_KEYS)) {
        return false;
    }
    const double pairs = visiblePairs(problem) * p.batch * (needsHeads(p, true) ? p.queryHeads : 1.0);
    return mapPays(caps, callOperations(problem), pairs * static_cast<double>(vkfStoredBytes(p.bias.type, 1)));
}

TileMapChoice mapOfMasks(const VkfProblem& p, uint32_t rows, uint32_t keys) {
    return {false, needsHeads(p, false), isOfAll(p, false), rows, keys, {}};
}

std::optional<TileMapChoice> chooseTileMap(const Caps& caps, const CheckedProblem& problem, const Decision& decision) {
    if (!wantsMap(caps, problem, decision.path)) {
        return {};
    }
    const bool bias = mapsBias(caps, problem);
    const VkfProblem& p = problem.fields;
    TileMapChoice map{bias, needsHeads(p, bias), isOfAll(p, bias), decision.tile.rows, decision.tile.keys, {}};
    if (bias && decision.biasMaskTile) {
        map.rows = decision.biasMaskTile->rows;
        map.keys = decision.biasMaskTile->keys;
    }
    if (bias) {
        map.rowClasses = rowClasses(problem, decision.path);
    }
    const bool counts = tileMapSizes(problem, map, decision.packedHeads).words <= maxCount &&
                        itemsOfClasses(problem, decision, bias) <= maxCount;
    return counts ? std::optional(map) : std::nullopt; // without a map, the kernel asks per-key masks about every key
}

} // namespace vkf
