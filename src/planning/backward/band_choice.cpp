// SPDX-License-Identifier: MIT
#include "planning/backward/band_choice.hpp"

#include <algorithm>

#include "planning/kernel_parameters.hpp"
#include "problem/masks/positions.hpp"
#include "shared/attention_params.h"
#include "tiles/kernel_tile.hpp"
#include "tiles/occupancy.hpp"

namespace vkf {
namespace {

// Workgroups of a round, in waves. With more of them, those of a causal mask, which take different times, end together.
constexpr uint64_t maxWaves = 4;
// KV heads of a round, if there are as many, with all of their keys or with some. Fewer heads have longer bands, whose
// workgroups take less similar times under a causal mask.
constexpr uint64_t fewWholeHeads = 4;
constexpr uint64_t fewHeads = 8;

struct Sizes {
    uint64_t heads;    // KV heads of all sequences
    uint64_t tiles;    // of keys, of a head
    uint64_t rowBytes; // of a row of a tile, of p or ds of a KV head
    uint64_t sumBytes; // of dq of a KV head
};

Sizes sizesOf(const VkfProblem& p, const BackwardMatrixTile& store, const BackwardSumTile& sum) {
    const uint64_t queryHeads = p.queryHeads / p.kvHeads; // of a KV head
    const uint64_t rowTiles = tilesOf(p.queryRows, sum.rows());
    return {uint64_t{p.batch} * p.kvHeads, tilesOf(p.keys, store.keys()), queryHeads * store.keys() * 2,
            queryHeads * rowTiles * sum.rows() * sum.columns() * sizeof(float)};
}

// Rows of a tile of keys in scratch memory: those that may see one of its keys, in whole tiles of rows. They are those
// of rowsThatSee of shaders/backward/bands.glsl where the number of keys is known here.
uint64_t rowsOfTile(const CheckedProblem& forward, const BackwardMatrixTile& store, uint64_t tile) {
    const VkfProblem& p = forward.fields;
    const auto rows = static_cast<int64_t>(p.queryRows);
    int64_t begin = 0;
    int64_t end = rows;
    if (!has(p, VKF_USE_KEY_LENGTHS) && !hasOffsetOnDevice(p)) {
        const int64_t offset = rowOffsetOf(p, rows, p.keys);
        const int64_t rowStride = rowStrideOf(p);
        const auto firstKey = static_cast<int64_t>(tile * store.keys());
        const int64_t lastKey = std::min<int64_t>(firstKey + store.keys(), p.keys) - 1;
        const int64_t right = windowReach(forward.windowRight, VKF_UNLIMITED_RIGHT);
        const int64_t left = windowReach(forward.windowLeft, VKF_UNLIMITED_LEFT);
        const int64_t firstSeeing = VKF_SEEING_BEGIN(firstKey * keyStrideOf(p), offset, right);
        const int64_t endSeeing = VKF_SEEING_END(lastKey * keyStrideOf(p) + 1, offset, left);
        begin = std::max<int64_t>(VKF_FIRST_FROM(firstSeeing, rowStride), 0);
        end = std::min<int64_t>(VKF_FIRST_FROM(endSeeing, rowStride), rows);
        if (firstKey < forward.firstKeys()) {
            begin = has(p, VKF_USE_CAUSAL) ? begin : 0;
            end = rows;
        }
    }
    if (begin >= end) {
        return 0;
    }
    return (tilesOf(static_cast<uint64_t>(end), store.rows()) - static_cast<uint64_t>(begin) / store.rows()) *
           store.rows();
}

// Rows that the two tiles of each pair share, in bands of `tiles` tiles.
uint64_t sharedRowsOf(const CheckedProblem& forward, const BackwardMatrixTile& store, uint64_t allTiles,
                      uint64_t tiles) {
    constexpr uint64_t maxTiles = 1 << 16; // that are looked at
    if (!forward.windowed() || allTiles > maxTiles) {
        return (tiles > 1 ? 2 : 1) * tilesOf(uint64_t{forward.fields.queryRows}, store.rows()) * store.rows();
    }
    uint64_t most = store.rows(); // rows that no pair has are read too, and their words are dropped
    for (uint64_t band = 0; band < allTiles; band += tiles) {
        for (uint64_t i = 0; 2 * i < tiles; i++) {
            const uint64_t last = tiles - 1 - i;
            const uint64_t front = band + i < allTiles ? rowsOfTile(forward, store, band + i) : 0;
            const uint64_t back = last != i && band + last < allTiles ? rowsOfTile(forward, store, band + last) : 0;
            most = std::max(most, front + back);
        }
    }
    return most;
}

// The smallest divisor of `number` that is not smaller than `least`; `number` itself if none is near.
uint64_t divisorFrom(uint64_t least, uint64_t number) {
    constexpr uint64_t near = 1024;
    for (uint64_t divisor = std::max<uint64_t>(least, 1); divisor < std::min(least + near, number); divisor++) {
        if (number % divisor == 0) {
            return divisor;
        }
    }
    return number;
}

// The largest divisor of `number` that is not larger than `most`, which is at least 1.
uint64_t divisorUpTo(uint64_t most, uint64_t number) {
    uint64_t divisor = std::min(most, number);
    while (number % divisor != 0) {
        divisor--;
    }
    return divisor;
}

// KV heads of a round of about `workgroups` workgroups. A band with all keys of its heads is best: it adds to no sums
// of earlier bands. lab/log-0.4.md, "Pairs in scratch memory", has the model.
uint64_t headsOfPass(const Sizes& sizes, uint64_t workgroups) {
    if (workgroups >= sizes.tiles) {
        const uint64_t whole = divisorUpTo(workgroups / sizes.tiles, sizes.heads);
        if (whole >= fewWholeHeads || whole == sizes.heads) {
            return whole;
        }
    }
    return divisorFrom(std::max((workgroups + sizes.tiles - 1) / sizes.tiles, fewHeads), sizes.heads);
}

// The bands of a pass of about `workgroups` workgroups. None if they need more bytes or work items than there may be.
BackwardBands bandsOf(const CheckedProblem& forward, const BackwardMatrixTile& store, const Sizes& sizes,
                      uint64_t workgroups, uint64_t allowedBytes) {
    const uint64_t heads = headsOfPass(sizes, workgroups);
    const uint64_t tiles = std::clamp<uint64_t>(workgroups / heads, 1, sizes.tiles);
    const uint64_t bands = (sizes.tiles + tiles - 1) / tiles;
    const uint64_t sharedRows = sharedRowsOf(forward, store, sizes.tiles, tiles);
    const uint64_t storedBytes = (tiles + 1) / 2 * sharedRows * sizes.rowBytes; // of a KV head
    const uint64_t margin = uint64_t{BackwardSumTile::maxRows} * store.layout.rows * sizeof(uint16_t);
    const uint64_t stored = store.storesP ? 2 : 1;
    const uint64_t ofHead = stored * storedBytes + (bands == 1 ? 0 : sizes.sumBytes);
    const uint64_t left = allowedBytes - std::min(allowedBytes, stored * 2 * margin);
    if (heads > left / ofHead || sizes.heads * bands * tiles > maxCount || sharedRows > VKF_MAX_COUNT) {
        return {};
    }
    return {static_cast<uint32_t>(heads),
            static_cast<uint32_t>(tiles),
            static_cast<uint32_t>(sizes.heads / heads * bands),
            static_cast<uint32_t>(sharedRows),
            heads * storedBytes + 2 * margin,
            margin,
            bands == 1 ? 0 : heads * sizes.sumBytes};
}

// Whether the kernel that owns keys stores ds for all rows that may see one of them, in matrices that can be
// transposed.
bool fillsBands(const CheckedProblem& forward, const BackwardMatrixTile& store) {
    return store.layout.rows == store.layout.depth && !has(forward.fields, VKF_USE_CU_SEQLENS) &&
           !has(forward.fields, VKF_USE_BLOCK_MASK);
}

// Bytes of scratch memory that bands may take. Where the caller sets no limit, they are left out where lab/log-0.4.md
// shows no gain, or where kernels that run side by side occupy the device better than kernels that take turns.
uint64_t allowedBytes(const CheckedBackward& backward, uint64_t workgroups) {
    constexpr uint32_t widestWithout = 64;
    // Kernels find words of 16 bytes by an index, which SPIR-V takes for a signed number.
    constexpr uint64_t maxBytes = uint64_t{INT32_MAX} * 16;
    const VkfProblem& p = backward.forward.fields;
    if (backward.fields.maxScratchBytes != 0) {
        return std::min(backward.fields.maxScratchBytes, maxBytes);
    }
    const bool pays = std::max(p.headDim, p.valueDim) > widestWithout && workgroups >= multiprocessors;
    return pays ? VKF_DEFAULT_BACKWARD_SCRATCH_BYTES : 0;
}

} // namespace

BackwardBands chooseBackwardBands(const CheckedBackward& backward, const BackwardMatrixTile& store,
                                  const BackwardSumTile& sum) {
    const VkfProblem& p = backward.forward.fields;
    if (!fillsBands(backward.forward, store) || store.workgroupSize() == 0 || sum.workgroupSize() == 0) {
        return {};
    }
    const Sizes sizes = sizesOf(p, store, sum);
    const uint64_t all = sizes.heads * sizes.tiles;
    const uint64_t allowed = allowedBytes(backward, all);
    for (uint64_t waves = maxWaves; waves > 0; waves /= 2) {
        const uint64_t workgroups = std::min(waves * multiprocessors, all);
        const BackwardBands bands = bandsOf(backward.forward, store, sizes, workgroups, allowed);
        if (bands.heads != 0) {
            return bands;
        }
    }
    return {};
}

} // namespace vkf
