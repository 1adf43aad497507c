// SPDX-License-Identifier: MIT
#include "tiles/merge_tile.hpp"

#include <algorithm>
#include <bit>

#include "shared/merge_params.h"
#include "tiles/kernel_tile.hpp"

namespace vkf {
namespace {

// One row with D = 128 on an H200: with 16 partial results, a call takes 8.1 us in 2 groups and 7.8 in 4 or 8. With 33
// of them, it takes 12.1 us in two turns of eight at once, 11.6 in one turn of five, and no less with 512 invocations.
// Two rows in a workgroup of 256 invocations take 0.1 us more than one row in 128. See lab/log-0.4.md, "The merge".
constexpr uint32_t usualAtOnce = 4;
constexpr uint32_t mostAtOnce = 8;
constexpr uint32_t usualInvocations = 128;
constexpr uint32_t mostInvocations = 256;

} // namespace

void MergeTile::setConstants(Constants& constants) const {
    constants[VKF_MERGE_ID_WORKGROUP_SIZE] = workgroupSize();
    constants[VKF_MERGE_ID_LANES] = lanes;
    constants[VKF_MERGE_ID_GROUPS] = groups;
    constants[VKF_MERGE_ID_AT_ONCE] = atOnce;
}

MergeTile chooseMergeTile(uint32_t partialResults, uint32_t lanes, uint32_t maxInvocations) {
    const uint32_t mostGroups = std::bit_floor(std::min(mostInvocations, maxInvocations) / lanes);
    MergeTile tile;
    tile.lanes = lanes;
    tile.groups =
        static_cast<uint32_t>(std::min<uint64_t>(std::bit_ceil(tilesOf(partialResults, usualAtOnce)), mostGroups));
    const auto turns = static_cast<uint32_t>(tilesOf(partialResults, tile.groups * mostAtOnce));
    tile.atOnce = static_cast<uint32_t>(tilesOf(partialResults, tile.groups * turns));
    tile.rows = std::max(usualInvocations / (lanes * tile.groups), 1U);
    return tile;
}

} // namespace vkf
