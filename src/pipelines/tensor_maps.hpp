// SPDX-License-Identifier: MIT
//
// Tensor maps, by which kernels of path wgmma let the chip's copy engine find k and v. Vulkan has no call that makes
// them.
#pragma once

#include <array>
#include <cstdint>

#include "shared/wgmma_params.h"

namespace vkf {

// A map of a tensor of 16-bit numbers, for boxes of WGMMA_BOX_COLUMNS columns and `boxKeys` keys. `strides` are those
// of key, head and sequence: multiples of 16 bytes, below 2^40.
shared::TensorMap tensorMap(uint64_t address, uint32_t columns, uint32_t keys, const std::array<uint64_t, 3>& strides,
                            uint32_t boxKeys);

// The maps of k and v for a launch with these parameters.
shared::WgmmaMaps tensorMapsOf(const shared::CallParams& params, const shared::WgmmaConstants& constants);

} // namespace vkf
