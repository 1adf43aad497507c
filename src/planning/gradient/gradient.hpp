// SPDX-License-Identifier: MIT
//
// The plan of a backward pass.
#pragma once

#include <string>

#include "planning/plan.hpp"
#include "problem/gradient.hpp"
#include "shared/gradient_params.h"

namespace vkf {

struct GradientPlan : AttentionPlan {
    Slots keySlots;          // packed sequences: a slot for each tile of keys
    uint64_t dsOffset = 0;   // of ds of a band in the scratch memory
    uint64_t pOffset = 0;    // of p
    uint64_t sumsOffset = 0; // of the sums of dq
    uint32_t bandKeys = 0;   // 0 = ds is not stored
    std::string rowTileText; // tile of the kernel that writes dq; empty without it
    std::string keyTileText; // tile of the kernel that writes dk and dv, or of one each; empty without it
    // The table without addresses and without the forward call's part.
    shared::GradientTable table{};
};

// Chooses path, tiles and steps. Errors say why the device cannot do the problem.
VkfResult makeGradientPlan(const TunedDevice& device, const CheckedGradient& gradient, GradientPlan* plan,
                           VkfMessage* message);

} // namespace vkf
