// SPDX-License-Identifier: MIT
#include "tiles/wgmma_tile.hpp"

#include <algorithm>
#include <bit>

#include "device/chips.hpp"
#include "tiles/rejections.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

// Keys are split as often as all workgroups still run at the same time. Where rows see very different numbers of keys,
// most splits would be empty. The number is a power of two while it grows with the keys, so that a growing cache meets
// few merge kernels.
uint32_t splitsOf(const Chip::Wgmma& chip, const WgmmaTile& tile, const TileProblem& problem) {
    if (problem.masked && problem.queryRows > problem.keys / 2) {
        return 1;
    }
    const uint64_t workgroups = std::max<uint64_t>(problem.workgroups(tile.rows()), 1);
    const uint64_t atOnce = std::max<uint64_t>(chip.workgroupsAtOnce / workgroups, 1);
    return static_cast<uint32_t>(
        std::min<uint64_t>(atOnce, std::bit_floor(std::max(problem.keys / chip.minSplitKeys, 1U))));
}

} // namespace

std::string WgmmaTile::text(uint32_t splits) const {
    return tileText({{"rows", rows()}, {"keys", keys()}, {"splits", splits}});
}

WgmmaPlan chooseWgmmaTile(const Caps& caps, const TileProblem& problem, ConsideredTiles* considered) {
    const Chip::Wgmma& chip = chipOf(caps).wgmma;
    const uint32_t dim = std::max(problem.headDim, problem.valueDim);
    TileSearch<WgmmaPlan> search;
    uint32_t narrower = 0; // the dimension of the tile before
    for (const shared::WgmmaTile& kernel : shared::WGMMA_TILES) {
        const WgmmaTile tile = {&kernel};
        const WgmmaPlan plan = {tile, splitsOf(chip, tile, problem)};
        const uint64_t workgroups = problem.workgroups(tile.rows());
        search.consider(plan, workgroups,
                        firstOf({
                            otherDimension(dim, narrower + 1, kernel.dim),
                            exceedsDevice(tile, caps),
                            halfEmpty(tile.rows(), problem.rows()),
                            fewWorkgroups(workgroups * plan.splits, chip.workgroupsAtOnce),
                        }));
        narrower = kernel.dim;
    }
    return search.finish(considered);
}

} // namespace vkf
