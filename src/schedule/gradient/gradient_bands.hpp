// SPDX-License-Identifier: MIT
//
// Bands of keys, whose ds, or p and ds, stay in scratch memory for other kernels (shaders/backward/bands.glsl).
#pragma once

#include <vector>

#include "schedule/gradient/gradient_builder.hpp"

namespace vkf {

// Adds the phases that write dq, dk and dv in bands, if VkfBackwardProblem::maxScratchBytes has room for enough keys.
// Sets *added to whether it did. `keyTiles` are those of dk and dv without bands.
VkfResult addBands(GradientBuilder& builder, const std::vector<GradientMatrixTile>& keyTiles, bool* added,
                   VkfMessage* message);

} // namespace vkf
