// SPDX-License-Identifier: MIT
//
// The plan of an attention call: the decision, and which kernels run in which order, over how many work items, in how
// many steps. A plan holds no Vulkan handle, so that tests need no device.
#pragma once

#include <cstdint>
#include <vector>

#include "planning/decision.hpp"
#include "planning/packed_sequences.hpp"
#include "planning/phase.hpp"
#include "planning/scratch.hpp"
#include "problem/problem.hpp"
#include "tiles/tuned_device.hpp"

namespace vkf {

// The memory of a map of tiles: the map, then its tiles of rows in order.
struct TileMapMemory {
    uint64_t orderOffset = 0;
    uint64_t bytes = 0; // 0 = there is no map
};

struct AttentionPlan : Decision {
    TileSequences tileSequences; // packed sequences: an entry for each tile of rows
    Scratch scratch;
    TileMapMemory tileMap;        // in scratch memory, or with VKF_USE_TILE_MAP memory of the caller
    std::vector<Phase> phases;    // in the order in which they are recorded; none if the output is empty
    std::vector<Phase> mapPhases; // of vkfCmdMapTiles; none without VKF_USE_TILE_MAP

    uint32_t steps() const { return stepsOf(phases); }
};

// Decides and builds. Errors say why the device cannot do the problem.
VkfResult makePlan(const TunedDevice& device, const CheckedProblem& problem, AttentionPlan* plan, VkfMessage* message);

} // namespace vkf
