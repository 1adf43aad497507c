// SPDX-License-Identifier: MIT
#include "tiles/merge_tile.hpp"

#include <algorithm>
#include <bit>

#include "device/chips.hpp"
#include "shared/merge_params.h"
#include "tiles/kernel_tile.hpp"

namespace vkf {
void MergeTile::setConstants(Constants& constants) const {
    constants[VKF_MERGE_ID_WORKGROUP_SIZE] = workgroupSize();
    constants[VKF_MERGE_ID_LANES] = lanes;
    constants[VKF_MERGE_ID_GROUPS] = groups;
    constants[VKF_MERGE_ID_AT_ONCE] = atOnce;
}

MergeTile chooseMergeTile(uint32_t partialResults, uint32_t lanes, const Caps& caps) {
    const Chip::Merge& chip = chipOf(caps).merge;
    const uint32_t maxGroups = std::bit_floor(std::min(chip.maxInvocations, caps.maxInvocations) / lanes);
    MergeTile tile;
    tile.lanes = lanes;
    tile.groups =
        static_cast<uint32_t>(std::min<uint64_t>(std::bit_ceil(tilesOf(partialResults, chip.usualAtOnce)), maxGroups));
    const auto rounds = static_cast<uint32_t>(tilesOf(partialResults, tile.groups * chip.maxAtOnce));
    tile.atOnce = static_cast<uint32_t>(tilesOf(partialResults, tile.groups * rounds));
    tile.rows = std::max(chip.usualInvocations / (lanes * tile.groups), 1U);
    return tile;
}

} // namespace vkf
