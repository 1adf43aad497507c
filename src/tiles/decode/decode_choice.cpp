// SPDX-License-Identifier: MIT
#include "tiles/decode/decode_choice.hpp"

#include <algorithm>

namespace vkf {
namespace {

// Keys are split until the last wave of workgroups is nearly full, or there are so many waves. Half a wave too many
// costs a quarter of the time (one row, 65536 keys: 49 splits 98 us, 32 splits 79).
constexpr uint64_t enoughWaves = 8;
constexpr double fullEnough = 0.9;

// Where k and v have no block type, two workgroups of a multiprocessor keep its memory busy. A third pays for its merge
// if each split has so many keys (16384 keys: 33 splits 23.8 us, 49 splits 24.2; 65536 keys: both 68.3; eight sequences
// of 16384 keys: two 130, three 128). To decode elements of block types takes longer than to read them, so that a third
// workgroup is always better there.
constexpr uint32_t busyWorkgroups = 2;
constexpr uint32_t keysOfBusySplits = 1024;

} // namespace

uint32_t chooseDecodeSplits(uint64_t workgroups, uint32_t keys, uint32_t tileKeys, uint64_t slots) {
    const uint64_t most = std::clamp<uint64_t>((uint64_t{keys} + tileKeys - 1) / tileKeys, 1, VKF_MAX_SPLITS);
    if (workgroups == 0) {
        return 1;
    }
    uint64_t splits = std::max<uint64_t>(slots / workgroups, 1);
    while (splits * workgroups < enoughWaves * slots) {
        const uint64_t ofAll = splits * workgroups;
        const uint64_t waves = (ofAll + slots - 1) / slots;
        if (static_cast<double>(ofAll) >= fullEnough * static_cast<double>(waves * slots)) {
            break;
        }
        splits++;
    }
    return static_cast<uint32_t>(std::min(splits, most));
}

uint32_t decodeSplits(const DecodeProblem& problem, uint64_t workgroups, uint32_t tileKeys, uint32_t resident) {
    const auto splitsFor = [&](uint32_t atATime) {
        return chooseDecodeSplits(workgroups, problem.keys, tileKeys, multiprocessors * atATime);
    };
    const uint32_t splits = splitsFor(resident);
    return !problem.hasBlocks() && problem.keys / splits < keysOfBusySplits
               ? splitsFor(std::min(resident, busyWorkgroups))
               : splits;
}

DecodeChoice chooseDecodeTile(const Caps& caps, const MatrixLayout* layout, const DecodeProblem& problem,
                              ConsideredTiles* considered) {
    DecodeSearch search;
    if (layout != nullptr && layout->rows != 0) {
        const auto considerMatrices = problem.wide() ? considerLatentTiles : considerDecodeMatrixTile;
        considerMatrices(caps, *layout, problem, search);
    }
    considerDecodeTiles(caps, problem, search);
    return search.finish(considered);
}

} // namespace vkf
