// SPDX-License-Identifier: MIT
#include "tiles/decode/decode_choice.hpp"

#include <algorithm>
#include <bit>

namespace vkf {
bool staysUnsplit(const Chip::Decode& chip, uint64_t keys, uint32_t tileKeys) {
    return keys <= std::min(chip.unsplitTiles * tileKeys, chip.unsplitKeys);
}

uint32_t chooseDecodeSplits(uint64_t workgroups, uint32_t keys, uint32_t tileKeys, uint64_t slots,
                            const Chip::Decode& chip) {
    const uint64_t tiles = (uint64_t{keys} + tileKeys - 1) / tileKeys;
    // The kernels are compiled for a number of splits. A cache that grows shall meet few numbers, so that some splits
    // of a short cache have no keys.
    const uint64_t most = std::min<uint64_t>(std::bit_ceil(tiles), VKF_MAX_SPLITS);
    if (workgroups == 0 || staysUnsplit(chip, keys, tileKeys)) {
        return 1;
    }
    uint64_t splits = std::max<uint64_t>(slots / workgroups, 1);
    while (splits * workgroups < chip.enoughWaves * slots) {
        const uint64_t ofAll = splits * workgroups;
        const uint64_t waves = (ofAll + slots - 1) / slots;
        if (static_cast<double>(ofAll) >= chip.fullEnough * static_cast<double>(waves * slots)) {
            break;
        }
        splits++;
    }
    return static_cast<uint32_t>(std::min(splits, most));
}

uint32_t decodeSplits(const Chip::Decode& chip, const DecodeProblem& problem, uint64_t workgroups, uint32_t tileKeys,
                      uint32_t resident) {
    const auto splitsFor = [&](uint32_t atATime) {
        return chooseDecodeSplits(workgroups, problem.keys, tileKeys, multiprocessors * atATime, chip);
    };
    const uint32_t splits = splitsFor(resident);
    return !problem.hasBlocks() && problem.keys / splits < chip.keysOfBusySplits
               ? splitsFor(std::min(resident, chip.busyWorkgroups))
               : splits;
}

DecodeChoice chooseDecodeTile(const Caps& caps, const MatrixLayout* layout, const DecodeProblem& problem,
                              ConsideredTiles* considered) {
    DecodeSearch search;
    if (layout != nullptr && layout->rows != 0) {
        const auto considerMatrices = problem.latent() ? considerLatentTiles : considerDecodeMatrixTile;
        considerMatrices(caps, *layout, problem, search);
    }
    considerDecodeTiles(caps, problem, search);
    return search.finish(considered);
}

} // namespace vkf
