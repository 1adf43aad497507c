// SPDX-License-Identifier: MIT
#include "tiles/backward/backward_wgmma_tile.hpp"

#include <algorithm>

#include "tiles/rejections.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {

uint32_t BackwardWgmmaTile::registers() const {
    const bool ownsKeys = owner == BackwardOwner::keys;
    const uint32_t visited = ownsKeys ? sizes->rows : sizes->keys;
    const uint32_t sums = ownsKeys ? 2 : 1;
    return sums * sizes->dim / 2 + 2 * (visited / 2 + sizes->dim / 4);
}

std::string BackwardWgmmaTile::text(uint32_t splits) const {
    return tileText({{"rows", rows()}, {"keys", keys()}, {"splits", splits}});
}

BackwardWgmmaTile chooseBackwardWgmmaTile(const Caps& caps, BackwardOwner owner, uint32_t headDim, uint32_t valueDim) {
    const Kernel kernel = owner == BackwardOwner::keys ? Kernel::backwardWgmmaKeys : Kernel::backwardWgmmaRows;
    if (std::max(headDim, valueDim) > maxWgmmaDim(kernel)) {
        return {};
    }
    const BackwardWgmmaTile tile = {kernel, &wgmmaTileFor(kernel, headDim, valueDim), owner};
    return exceedsDevice(tile, caps).reason == VKF_TILE_SUITS ? tile : BackwardWgmmaTile{};
}

} // namespace vkf
