// SPDX-License-Identifier: MIT
#include "schedule/gradient/gradient_bands.hpp"

#include <algorithm>

#include "shared/gradient_params.h"
#include "tiles/occupancy.hpp"

namespace vkf {
namespace {

// Workgroups of a pass, in waves. With more of them, those of a causal mask, which take different times, end together.
constexpr uint64_t mostWaves = 4;
// KV heads of a pass, if there are as many. Their bands are shorter than those of one head, so that the workgroups of a
// causal mask take similar times.
constexpr uint64_t usualHeads = 8;

struct Sizes {
    uint64_t heads;     // KV heads of all sequences
    uint64_t tiles;     // of keys, of a head
    uint64_t pairBytes; // of a tile, of p or ds
    uint64_t sumBytes;  // of dq of a KV head
};

Sizes sizesOf(const VkfProblem& p, const GradientMatrixTile& store, const GradientSumTile& sum) {
    const uint64_t queryHeads = p.queryHeads / p.kvHeads; // of a KV head
    const uint64_t rowTiles = (uint64_t{p.queryRows} + sum.rows() - 1) / sum.rows();
    return {uint64_t{p.batch} * p.kvHeads, (uint64_t{p.keys} + store.keys() - 1) / store.keys(),
            queryHeads * store.keys() * VKF_DS_ROWS(uint64_t{p.queryRows}) * 2,
            queryHeads * rowTiles * sum.rows() * sum.columns() * sizeof(float)};
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

// The bands of a pass of about so many workgroups; none if they need more bytes or work items than there may be.
// `stored`: 2 for p and ds, else 1.
GradientBands bandsOf(const Sizes& sizes, uint64_t workgroups, uint32_t stored, uint64_t allowedBytes) {
    const uint64_t heads = divisorFrom(std::max((workgroups + sizes.tiles - 1) / sizes.tiles, usualHeads), sizes.heads);
    const uint64_t tiles = std::clamp<uint64_t>(workgroups / heads, 1, sizes.tiles);
    const uint64_t bands = (sizes.tiles + tiles - 1) / tiles;
    const uint64_t ofHead = stored * tiles * sizes.pairBytes + (bands == 1 ? 0 : sizes.sumBytes);
    if (heads > allowedBytes / ofHead || sizes.heads * bands * tiles > UINT32_MAX) {
        return {};
    }
    return {static_cast<uint32_t>(heads), static_cast<uint32_t>(tiles),
            static_cast<uint32_t>(sizes.heads / heads * bands), stored * heads * tiles * sizes.pairBytes,
            bands == 1 ? 0 : heads * sizes.sumBytes};
}

// Whether the kernel that owns keys stores ds for all rows that may see one of them.
bool fillsBands(const CheckedProblem& forward, const GradientMatrixTile& store) {
    return !has(forward.given, VKF_ARRAY_CU_SEQLENS) && !has(forward.given, VKF_ARRAY_BLOCK_MASK) &&
           forward.firstKeys() == 0 && VKF_DS_UNIT % store.rows() == 0;
}

} // namespace

GradientBands chooseGradientBands(const CheckedGradient& gradient, const GradientMatrixTile& store,
                                  const GradientSumTile& sum) {
    const VkfProblem& p = gradient.forward.given;
    if (!fillsBands(gradient.forward, store) || store.workgroupSize() == 0 || sum.workgroupSize() == 0) {
        return {};
    }
    const Sizes sizes = sizesOf(p, store, sum);
    const uint64_t all = sizes.heads * sizes.tiles;
    constexpr uint64_t mostBytes = uint64_t{UINT32_MAX} * 16; // kernels count words of 16 bytes
    const uint64_t allowed = std::min(gradient.given.maxScratchBytes, mostBytes);
    for (uint64_t waves = mostWaves; waves > 0; waves /= 2) {
        const uint64_t workgroups = std::min(waves * multiprocessors, all);
        const GradientBands bands = bandsOf(sizes, workgroups, store.storesP ? 2 : 1, allowed);
        if (bands.heads != 0) {
            return bands;
        }
    }
    return {};
}

} // namespace vkf
