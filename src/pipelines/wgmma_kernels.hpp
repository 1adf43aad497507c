// SPDX-License-Identifier: MIT
//
// The kernels of path wgmma (shaders/shared/wgmma_params.h): one for each type and padded head dimension, with and
// without score terms.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include "pipelines/variant.hpp"
#include "shared/wgmma_params.h"

namespace vkf {

constexpr bool areWgmmaTilesInOrder() {
    for (size_t i = 1; i < std::size(shared::WGMMA_TILES); i++) {
        if (shared::WGMMA_TILES[i - 1].dim >= shared::WGMMA_TILES[i].dim) {
            return false;
        }
    }
    return std::end(shared::WGMMA_TILES)[-1].dim == VKF_MAX_DIM;
}
static_assert(areWgmmaTilesInOrder(), "tiles stand in the order of their dimensions, up to the largest one");

// The tile for the larger of the two dimensions, which is at most VKF_MAX_DIM.
constexpr const shared::WgmmaTile& wgmmaTileFor(uint32_t headDim, uint32_t valueDim) {
    const shared::WgmmaTile* tile = std::begin(shared::WGMMA_TILES);
    while (tile->dim < std::max(headDim, valueDim)) {
        tile++;
    }
    return *tile;
}

// The name of the PTX text, and of its entry point, for a variant.
inline std::string wgmmaKernelName(const Variant& variant) {
    const Constants& c = variant.constants;
    const bool terms = c[VKF_ID_SOFTCAP] != 0 || c[VKF_ID_ALIBI] != 0;
    return std::string(traitsOf(variant.kernel).name) + (variant.bf16 ? "_bf16_" : "_f16_") +
           std::to_string(wgmmaTileFor(c[VKF_ID_HEAD_DIM], c[VKF_ID_VALUE_DIM]).dim) + (terms ? "_terms" : "");
}

} // namespace vkf
