// SPDX-License-Identifier: MIT
#include "schedule/tile_map.hpp"

#include <algorithm>

#include "schedule/kernel_parameters.hpp"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

constexpr uint32_t workgroupSize = 1024; // a mask of bytes needs as many loads in flight as possible
constexpr uint64_t wordBytes = 8;        // two bits for each of 32 tiles
constexpr uint32_t wordTiles = 32;
constexpr uint64_t pairOperations = 8;

bool hasMap(const CheckedProblem& problem, const Schedule& schedule) {
    const VkfProblem& p = problem.given;
    // Packed sequences have no map, because their tiles of rows lie in slots. The kernel asks per-key masks about every
    // key then.
    return walksTiles(schedule.path) && problem.asksKeys() && !has(p, VKF_ARRAY_CU_SEQLENS) && p.keys != 0 &&
           !schedule.phases.empty();
}

bool differsByHead(const VkfProblem& p) {
    const bool mask = has(p, VKF_ARRAY_MASK) && p.mask.headStride != 0;
    return p.queryHeads > 1 && (mask || (has(p, VKF_ARRAY_BLOCK_MASK) && p.blockMask.headStride != 0));
}

// Returns a phase whose kernel looks at the tiles of attention. The first phase of the schedule must be attention.
Phase phaseOf(const Caps& caps, const CheckedProblem& problem, Kernel kernel, const Schedule& schedule, uint64_t items,
              uint64_t operations) {
    const Phase& attention = schedule.phases.front();
    const Constants& ofAttention = attention.variant.constants;
    Phase phase;
    phase.variant.kernel = kernel;
    phase.variant.constants = constantsOf(problem, Constants{}, ofAttention[VKF_ID_STRIDE_SHIFT]);
    phase.variant.constants[VKF_ID_WORKGROUP_SIZE] = std::min(workgroupSize, caps.maxInvocations);
    phase.variant.constants[VKF_ID_PACKED_HEADS] = ofAttention[VKF_ID_PACKED_HEADS];
    phase.variant.constants[VKF_ID_TILE_MAP] = ofAttention[VKF_ID_TILE_MAP];
    phase.variant.constants[VKF_ID_MAP_TILE_ROWS] = schedule.tile.rows;
    phase.variant.constants[VKF_ID_MAP_TILE_KEYS] = schedule.tile.keys;
    phase.params = attention.params;
    phase.items = static_cast<uint32_t>(items);
    const uint64_t affordable = VKF_DEFAULT_STEP_OPERATIONS / operations;
    phase.itemsPerStep = static_cast<uint32_t>(std::clamp<uint64_t>(affordable, 1, caps.maxGroupCount));
    return phase;
}

} // namespace

void addTileMap(const Caps& caps, const CheckedProblem& problem, Schedule* schedule) {
    if (!hasMap(problem, *schedule)) {
        return;
    }
    const VkfProblem& p = problem.given;
    Phase& attention = schedule->phases.front();
    const bool byHead = differsByHead(p);
    const TileShape& tile = schedule->tile;
    const uint32_t packed = attention.variant.constants[VKF_ID_PACKED_HEADS];
    const uint64_t heads = byHead ? p.queryHeads / packed : 1;
    const uint64_t rowTiles = tilesOfRows(problem, packed, tile.rows);
    const uint64_t wordKeys = uint64_t{wordTiles} * tile.keys;
    const uint64_t words = p.batch * heads * rowTiles * ((p.keys + wordKeys - 1) / wordKeys);
    if (words > UINT32_MAX) {
        return; // without a map, the kernel asks per-key masks about every key
    }
    attention.variant.constants[VKF_ID_TILE_MAP] = byHead ? VKF_MAP_BY_HEAD : VKF_MAP_SHARED;
    const uint64_t orders = p.batch * heads;
    const Phase map = phaseOf(caps, problem, Kernel::mapTiles, *schedule, words, pairOperations * tile.rows * wordKeys);
    const Phase order = phaseOf(caps, problem, Kernel::orderTiles, *schedule, orders, rowTiles * rowTiles);
    schedule->phases.insert(schedule->phases.begin(), {map, order});
    schedule->mapOffset = schedule->reserveScratch(words * wordBytes + orders * rowTiles * sizeof(uint32_t));
    schedule->orderOffset = schedule->mapOffset + words * wordBytes;
}

} // namespace vkf
