// SPDX-License-Identifier: MIT
//
// Tensor maps: how the copy engine of a Hopper chip finds a tensor, and which boxes of it one instruction copies to
// shared memory. Vulkan has no call that makes them.
#pragma once

#include "shared/wgmma_params.h"

namespace vkf {

// The maps of k and v of a launch, with the push constants of the launch.
shared::WgmmaMaps tensorMapsOf(const shared::AttentionParams& params, const shared::WgmmaConstants& constants);

} // namespace vkf
