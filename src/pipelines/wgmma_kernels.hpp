// SPDX-License-Identifier: MIT
//
// The kernels of path wgmma: one for each padded head dimension and type, with and without score terms.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "pipelines/variant.hpp"
#include "shared/wgmma_params.h"

namespace vkf {

// Head dimensions up to `dim` are padded to it in shared memory.
struct WgmmaKernelTile {
    uint32_t dim;
    uint32_t rows;
    uint32_t keys;
    uint32_t threads;
    uint32_t sharedBytes;
};
inline constexpr std::array wgmmaTiles = {
    WgmmaKernelTile{64, 192, 128, 512, 49152},
    WgmmaKernelTile{128, 192, 64, 512, 49152},
    WgmmaKernelTile{256, 128, 32, 384, 49152},
};

// The tile for the larger of the two dimensions, which is at most VKF_MAX_DIM.
constexpr const WgmmaKernelTile& wgmmaTileFor(uint32_t headDim, uint32_t valueDim) {
    size_t i = 0;
    while (wgmmaTiles[i].dim < std::max(headDim, valueDim)) {
        i++;
    }
    return wgmmaTiles[i];
}

// The name of the PTX text, and of its entry point, for a variant.
inline std::string wgmmaKernelName(const Variant& variant) {
    const Constants& c = variant.constants;
    const bool terms = c[VKF_ID_SOFTCAP] != 0 || c[VKF_ID_ALIBI] != 0;
    return std::string(traitsOf(variant.kernel).name) + (variant.bf16 ? "_bf16_" : "_f16_") +
           std::to_string(wgmmaTileFor(c[VKF_ID_HEAD_DIM], c[VKF_ID_VALUE_DIM]).dim) + (terms ? "_terms" : "");
}

} // namespace vkf
