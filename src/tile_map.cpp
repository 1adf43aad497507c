// SPDX-License-Identifier: MIT
#include "tile_map.hpp"

#include <algorithm>

namespace vkf {
namespace {

constexpr uint32_t workgroupSize = 256;
constexpr uint64_t alignment = 16;
constexpr uint64_t wordBytes = 8; // two bits for each of 32 tiles
constexpr uint32_t wordTiles = 32;
constexpr double pairOperations = 8;

bool hasMap(const CheckedProblem& problem, const Schedule& schedule) {
    const VkfProblem& p = problem.given;
    // Of packed sequences every key is asked about: tiles of rows stand in slots there.
    const bool inTiles = schedule.path == VKF_PATH_SCALAR || schedule.path == VKF_PATH_COOPMAT;
    const bool asksKeys = p.mask.enabled != 0 || p.documents != 0;
    return inTiles && asksKeys && p.packed == 0 && p.keys != 0 && !schedule.phases.empty();
}

bool differsByHead(const VkfProblem& p) {
    const bool mask = p.mask.enabled != 0 && p.mask.headStride != 0;
    return p.queryHeads > 1 && (mask || (p.maskBlock != 0 && p.blockMaskHeadStride != 0));
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
    const uint64_t packed = attention.variant.constants[VKF_ID_PACKED_HEADS];
    const uint64_t heads = byHead ? p.queryHeads / packed : 1;
    const uint64_t rowTiles = (packed * p.queryRows + tile.rows - 1) / tile.rows;
    const uint64_t wordKeys = uint64_t{wordTiles} * tile.keys;
    const uint64_t words = p.batch * heads * rowTiles * ((p.keys + wordKeys - 1) / wordKeys);
    if (words > UINT32_MAX) {
        return; // the kernel asks about every key
    }
    Constants& constants = attention.variant.constants;
    constants[VKF_ID_TILE_MAP] = byHead ? VKF_MAP_BY_HEAD : VKF_MAP_SHARED;
    Phase map;
    map.variant.kernel = Kernel::mapTiles;
    map.variant.constants = constants;
    map.variant.constants[VKF_ID_WORKGROUP_SIZE] = std::min(workgroupSize, caps.maxInvocations);
    map.variant.constants[VKF_ID_THREAD_ROWS] = tile.rows;
    map.variant.constants[VKF_ID_THREAD_KEYS] = tile.keys;
    map.params = attention.params;
    map.items = static_cast<uint32_t>(words);
    const double operations = pairOperations * tile.rows * static_cast<double>(wordKeys);
    const double affordable = VKF_DEFAULT_STEP_OPERATIONS / operations;
    map.itemsPerStep = static_cast<uint32_t>(std::clamp(affordable, 1.0, static_cast<double>(caps.maxGroupCount)));
    schedule->phases.insert(schedule->phases.begin(), map);
    schedule->mapOffset = (schedule->scratchBytes + alignment - 1) / alignment * alignment;
    schedule->scratchBytes = schedule->mapOffset + words * wordBytes;
}

} // namespace vkf
