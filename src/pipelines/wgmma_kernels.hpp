// SPDX-License-Identifier: MIT
//
// The kernels of path wgmma (shaders/shared/wgmma_params.h): one for each type and padded head dimension, with and
// without score terms.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "pipelines/variant.hpp"
#include "shared/wgmma_params.h"

namespace vkf {

// The tiles of a kernel, by rising dimension.
constexpr std::span<const shared::WgmmaTile> wgmmaTiles(Kernel kernel) {
    return kernel == Kernel::backwardWgmmaRows   ? std::span<const shared::WgmmaTile>(shared::WGMMA_BACKWARD_ROW_TILES)
           : kernel == Kernel::backwardWgmmaKeys ? std::span<const shared::WgmmaTile>(shared::WGMMA_BACKWARD_KEY_TILES)
                                                 : std::span<const shared::WgmmaTile>(shared::WGMMA_TILES);
}

constexpr bool areInOrder(std::span<const shared::WgmmaTile> tiles) {
    for (size_t i = 1; i < tiles.size(); i++) {
        if (tiles[i - 1].dim >= tiles[i].dim) {
            return false;
        }
    }
    return true;
}
static_assert(areInOrder(wgmmaTiles(Kernel::attentionWgmma)) &&
              wgmmaTiles(Kernel::attentionWgmma).back().dim == VKF_MAX_DIM);
static_assert(areInOrder(wgmmaTiles(Kernel::backwardWgmmaRows)) && areInOrder(wgmmaTiles(Kernel::backwardWgmmaKeys)));
static_assert(wgmmaTiles(Kernel::backwardWgmmaRows).back().dim == wgmmaTiles(Kernel::backwardWgmmaKeys).back().dim);

// The largest head and value dimension of a kernel.
constexpr uint32_t maxWgmmaDim(Kernel kernel) { return wgmmaTiles(kernel).back().dim; }

// The tile for the larger of the two dimensions, which is at most maxWgmmaDim.
constexpr const shared::WgmmaTile& wgmmaTileFor(Kernel kernel, uint32_t headDim, uint32_t valueDim) {
    const shared::WgmmaTile* tile = wgmmaTiles(kernel).data();
    while (tile->dim < std::max(headDim, valueDim)) {
        tile++;
    }
    return *tile;
}

inline bool hasTerms(const Constants& constants) {
    return constants[VKF_ID_SOFTCAP] != 0 || constants[VKF_ID_ALIBI] != 0;
}

// Whether the kernel of a variant copies k and v by tensor maps, which each launch gives it. They pay where copies are
// the limit (lab/log-0.4.md, "Tensor maps for path wgmma with D = 256"). They reach no keys in pages, and no strides
// from 2^40 bytes on. A map ends with the tensor, so each sequence must end there too: what follows a shorter one may
// hold infinity and NaN, for which the kernel has a slow branch.
inline bool usesTensorMaps(const Variant& variant) {
    constexpr uint32_t strideBits = 40;
    const Constants& c = variant.constants;
    return variant.kernel == Kernel::attentionWgmma && !hasTerms(c) && c[VKF_ID_PAGE_ROWS] == 0 &&
           c[VKF_ID_KEY_LENGTHS] == 0 && c[VKF_ID_PACKED_SEQUENCES] == 0 && 32 + c[VKF_ID_STRIDE_SHIFT] <= strideBits &&
           wgmmaTileFor(variant.kernel, c[VKF_ID_HEAD_DIM], c[VKF_ID_VALUE_DIM]).dim == shared::WGMMA_MAP_DIM;
}

// The name of the PTX text, and of its entry point, for a variant.
inline std::string wgmmaKernelName(const Variant& variant) {
    const Constants& c = variant.constants;
    return std::string(traitsOf(variant.kernel).name) + (variant.bf16 ? "_bf16_" : "_f16_") +
           std::to_string(wgmmaTileFor(variant.kernel, c[VKF_ID_HEAD_DIM], c[VKF_ID_VALUE_DIM]).dim) +
           (hasTerms(c)               ? "_terms"
            : usesTensorMaps(variant) ? "_maps"
                                      : "");
}

} // namespace vkf
