// SPDX-License-Identifier: MIT
//
// The schedule of a backward pass.
#pragma once

#include <string>

#include "problem/gradient.hpp"
#include "schedule/schedule.hpp"
#include "shared/backward_params.h"

namespace vkf {

struct GradientSchedule : Schedule {
    TileSequences keyTileSequences; // packed sequences: an entry for each tile of keys
    uint64_t dsOffset = 0;          // of ds of a band in the scratch memory
    uint64_t pOffset = 0;           // of p
    uint64_t sumsOffset = 0;        // of the sums of dq
    uint32_t bandKeys = 0;          // 0 = ds is not stored
    std::string rowTileText;        // tile of the kernel that writes dq; empty without it
    std::string keyTileText;        // tile of the kernel that writes dk and dv, or of one each; empty without it
    // The table without addresses and without the forward call's part.
    shared::BackwardTable table{};
};

// Chooses path, tiles and steps. Errors say why the device cannot do the problem.
VkfResult makeGradientSchedule(const TunedDevice& device, const CheckedGradient& gradient, GradientSchedule* schedule,
                               VkfMessage* message);

} // namespace vkf
