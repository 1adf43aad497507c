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

struct AttentionPlan : Decision {
    TileSequences tileSequences; // packed sequences: an entry for each tile of rows
    Scratch scratch;
    std::vector<Phase> phases; // in the order in which they are recorded; none if the output is empty

    uint32_t steps() const { return stepsOf(phases); }
};

// Decides and builds. Errors say why the device cannot do the problem.
VkfResult makePlan(const TunedDevice& device, const CheckedProblem& problem, AttentionPlan* plan, VkfMessage* message);

} // namespace vkf
