// SPDX-License-Identifier: MIT
//
// vkfGetPlanTile and vkfGetPlanTileCount: which tiles the library considered for a plan.
#include <cstdio>

#include <vkflash/inspect.h>

#include "base/boundary.hpp"
#include "calls/first_sizes.hpp"
#include "calls/plan.hpp"

namespace vkf {
namespace {

VkfTileCandidate candidateOf(const ConsideredTile& tile) {
    VkfTileCandidate candidate{};
    candidate.structSize = sizeof candidate;
    candidate.reason = tile.rejection.reason;
    candidate.taken = tile.taken ? 1 : 0;
    candidate.fromTuning = tile.fromTuning ? 1 : 0;
    candidate.tileRows = tile.rows;
    candidate.tileKeys = tile.keys;
    candidate.workgroupSize = tile.workgroupSize;
    candidate.sharedMemoryBytes = tile.sharedBytes;
    candidate.registers = tile.registers;
    candidate.kvSplits = tile.splits;
    candidate.workgroups = tile.workgroups;
    candidate.value = tile.rejection.value;
    candidate.limit = tile.rejection.limit;
    std::snprintf(candidate.tile, sizeof candidate.tile, "%s", tile.tile.c_str());
    return candidate;
}

} // namespace
} // namespace vkf

uint32_t vkfGetPlanTileCount(VkfPlan plan) {
    return plan != nullptr ? static_cast<uint32_t>(plan->schedule.considered.size()) : 0;
}

VkfResult vkfGetPlanTile(VkfPlan plan, uint32_t index, VkfTileCandidate* candidate, VkfMessage* message) {
    return vkf::guarded(message, [&] {
        if (plan == nullptr) {
            return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "plan is null");
        }
        const vkf::ConsideredTiles& tiles = plan->schedule.considered;
        if (index >= tiles.size()) {
            return vkf::fail(message, VKF_ERROR_INVALID_ARGUMENT, "index is %u; %zu tiles were considered", index,
                             tiles.size());
        }
        return vkf::writeVersioned(vkf::candidateOf(tiles[index]), candidate, "candidate", message);
    });
}
