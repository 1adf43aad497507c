// SPDX-License-Identifier: MIT
//
// What the backward pass on path wgmma takes. Its kernels ask for those of path coopmat, which compute all gradients
// again, if infinity or NaN comes out (shaders/wgmma_backward/backward_wgmma_keys.cu).
#pragma once

#include "problem/backward.hpp"
#include "tiles/tuned_device.hpp"

namespace vkf {

// Why path wgmma cannot do the backward pass, or null. It says nothing about path coopmat.
const char* whyNotWgmma(const TunedDevice& device, const CheckedBackward& backward);

} // namespace vkf
