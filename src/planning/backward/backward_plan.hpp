// SPDX-License-Identifier: MIT
//
// The plan of a backward pass.
#pragma once

#include <cstdint>
#include <vector>

#include "planning/backward/backward_decision.hpp"
#include "planning/packed_sequences.hpp"
#include "planning/phase.hpp"
#include "planning/scratch.hpp"
#include "problem/backward.hpp"
#include "shared/backward_params.h"

namespace vkf {

struct BackwardPlan : BackwardDecision {
    TileSequences tileSequences;    // packed sequences: an entry for each tile of rows
    TileSequences keyTileSequences; // and for each tile of keys
    // The table without addresses and without the forward call's part.
    shared::BackwardTable table{};
    uint64_t tileMapBytes = 0; // of the scratch memory
    Scratch scratch;
    std::vector<Phase> phases; // in the order in which they are recorded; none if no gradient has elements

    uint32_t steps() const { return stepsOf(phases); }
};

// Decides and builds. Errors say why the device cannot do the problem.
VkfResult makeBackwardPlan(const TunedDevice& device, const CheckedBackward& backward, BackwardPlan* plan,
                           VkfMessage* message);

} // namespace vkf
