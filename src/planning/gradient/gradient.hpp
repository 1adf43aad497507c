// SPDX-License-Identifier: MIT
//
// The plan of a backward pass.
#pragma once

#include <string>
#include <vector>

#include "planning/decision.hpp"
#include "planning/packed_sequences.hpp"
#include "planning/phase.hpp"
#include "planning/scratch.hpp"
#include "problem/gradient.hpp"
#include "shared/gradient_params.h"

namespace vkf {

struct GradientPlan {
    VkfPath path{};
    TileShape tile;                     // the largest workgroup and the most shared memory of all kernels
    VkfType productType = VKF_TYPE_F32; // the type of products
    MatrixLayout matrix;                // empty without cooperative matrices
    uint32_t inputAlignment = 1;        // bytes; q, k, v and dout need it besides the alignment of their elements
    bool tuned = false;                 // the tuning data chose a tile
    uint32_t bandKeys = 0;              // 0 = ds is not stored
    std::string rowTileText;            // tile of the kernel that writes dq; empty without it
    std::string keyTileText;            // tile of the kernel that writes dk and dv, or of one each; empty without it
    Slots slots;                        // packed sequences: a slot for each tile of rows
    Slots keySlots;                     // and for each tile of keys
    // The table without addresses and without the forward call's part.
    shared::GradientTable table{};
    Scratch scratch;
    std::vector<Phase> phases; // in the order in which they are recorded; none if no gradient has elements

    uint32_t steps() const { return stepsOf(phases); }
};

// Chooses path, tiles and steps. Errors say why the device cannot do the problem.
VkfResult makeGradientPlan(const TunedDevice& device, const CheckedGradient& gradient, GradientPlan* plan,
                           VkfMessage* message);

} // namespace vkf
