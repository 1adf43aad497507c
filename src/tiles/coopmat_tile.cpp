// SPDX-License-Identifier: MIT
#include "tiles/coopmat_tile.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "shared/attention_params.h"
#include "tiles/amd/registers.hpp"
#include "tiles/occupancy.hpp"
#include "tiles/rejections.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

constexpr uint32_t wordBytes = 16;
constexpr uint32_t addressBytes = 8; // address of one row of the bias

// A tile before matrix shape and head dimensions are known. lab/log-0.4.md has the measurements.
struct Candidate {
    uint32_t subgroups;
    uint32_t rowTiles;
    uint32_t keyTiles;
    uint32_t mostDim;            // of q and v, whichever is larger
    uint32_t mostMaskedKeys = 0; // if not 0, for masked problems of at most as many keys, and for block masks
};

// Best first, for 16 x 16 matrices on an H200. The smaller tiles serve where the larger ones leave multiprocessors idle
// or do not fit the shared memory.
constexpr std::array registerCandidates = {
    // Two workgroups share the 48 KiB that a multiprocessor has for all. Each computes while the other waits at a
    // barrier.
    Candidate{4, 2, 4, 64},
    // Twice as many workgroups: one sequence of 512 rows takes 17.3 us instead of 19.7, causal 18.9 instead of 22.4.
    Candidate{4, 1, 4, 64},
    // Windows of few keys, and causal masks over fewKeysOfTriangle: fewer tiles are partial than with 256 rows. 8192
    // rows with a window of 1024 keys, D = 128, take 295 us, and 323 with the next tile. This one also serves blocks
    // that are smaller than the next one.
    Candidate{8, 1, 4, 128, 1536},
    // o and q of 32 rows fill the registers: one workgroup of eight subgroups.
    Candidate{8, 2, 2, 128},
    // Twice as many workgroups: one sequence of 1024 rows takes 44 us, and 58 us in two splits of the tile before.
    Candidate{8, 1, 4, 128},
    // Few rows and many keys, 16 rows a subgroup: 64 packed rows with 65536 keys take 93 us, and 103 us with tiles of
    // 32 keys.
    Candidate{4, 1, 4, 128},
    // o of 16 rows fills the registers.
    Candidate{8, 1, 2, 256},
    Candidate{4, 1, 2, 256},
    Candidate{2, 1, 2, 256},
    Candidate{1, 1, 2, 256},
    Candidate{1, 1, 1, 256},
};

// Best first, for matrices whose elements pass through shared memory, of which each subgroup needs a part. The last
// three fit 32 KiB for every head dimension.
constexpr std::array viaSharedCandidates = {
    Candidate{4, 2, 4, 64},  Candidate{4, 2, 2, 64},  Candidate{8, 2, 2, 128},
    Candidate{4, 2, 2, 128}, Candidate{8, 1, 1, 256}, Candidate{4, 1, 1, 256},
    Candidate{2, 1, 2, 256}, Candidate{1, 1, 2, 256}, Candidate{1, 1, 1, 256},
};

// Best first, for AMD devices, whose operands take twice as many registers (tiles/amd/registers.hpp). With D over 64 a
// subgroup has one matrix of rows. Tiles have as many keys as registers allow, because each tile costs two
// barriers.
constexpr std::array amdCandidates = {
    Candidate{4, 2, 4, 64},  Candidate{4, 2, 2, 64},  Candidate{8, 1, 4, 128}, Candidate{8, 1, 2, 192},
    Candidate{4, 1, 4, 128}, Candidate{4, 1, 2, 192}, Candidate{8, 1, 1, 256}, Candidate{4, 1, 1, 256},
    Candidate{2, 1, 2, 256}, Candidate{1, 1, 2, 256}, Candidate{1, 1, 1, 256},
};

// Best first, for fp32 numbers as bf16x3. A tile has as many keys as a matrix, because the parts of k and v fill the
// shared memory. No measurement has chosen between them yet.
constexpr std::array bf16x3Candidates = {
    Candidate{4, 2, 1, 64},  Candidate{4, 1, 1, 64},  Candidate{8, 1, 1, 128},
    Candidate{4, 1, 1, 128}, Candidate{2, 1, 1, 128}, Candidate{1, 1, 1, 128},
};

std::span<const Candidate> candidatesFor(const Caps& caps, const MatrixLayout& layout, bool bf16x3) {
    if (bf16x3) {
        return bf16x3Candidates;
    }
    if (!layout.viaShared) {
        return registerCandidates;
    }
    return isAmd(caps) ? std::span<const Candidate>(amdCandidates) : viaSharedCandidates;
}

// With fewer subgroups a smaller tile is faster: eight subgroups for a little less than all multiprocessors.
constexpr uint32_t fewSubgroups = 960;
// Enough workgroups of four subgroups with 16 rows each where keys are not split. One sequence of 512 rows, 16 heads,
// D = 128, takes 20.8 us in 128 of them, causal 22.3. In two splits of larger tiles it takes 22.3 us. In smaller tiles,
// causal, it takes 38.5 us.
constexpr uint64_t fewSmallWorkgroups = 120;
// The bias of the next tile counts: 8192 rows of 16 heads with a bias take 2.2 ms with 16 rows a subgroup, 2.9 with 32.
constexpr uint32_t mostRegisters = 232;
// Tiles that need more registers keep the last depths of q in shared memory. D = 128 with 32 rows a subgroup needs 224,
// D = 256 with 16 rows needs 208.
constexpr uint32_t crowdedRegisters = 200;
// As many depths as free this number of registers. With D = 128 these are 2 of 8. 16384 rows in all take 257, 775 and
// 2880 us with 512, 2048 and 8192 keys, and 264, 817 and 3010 with all of q in registers. With one depth they take 264,
// 826 and 3100, with three 270, 833 and 3080. With D = 256 these are 3 of 16: 301, 986 and 3750 instead of 313, 1030
// and 3890.
constexpr uint32_t freedRegisters = 12;
// Smaller workgroups load too little at a time, however few the rows are.
constexpr uint32_t subgroupsOfFewRows = 4;
// Two workgroups for each multiprocessor where each split has so many keys: 65536 keys of 64 packed rows of 8 KV heads
// take 93 us in 33 splits, 115 in 16.
constexpr uint64_t manyWorkgroups = 2 * multiprocessors;
constexpr uint64_t manySplitKeys = 1024;
// Under a causal mask, one wave of workgroups that share multiprocessors leaves them idle in the end. 1024 rows of 32
// heads, D = 64, take 37.5 us in 256 workgroups, and 33.5 in 512 of half the rows. 40 heads: 36.5 in 320, 43.7 in 640.
constexpr uint64_t moreThanOneWave = manyWorkgroups + 1;
// Under a causal mask, tiles of 256 rows are slower than smaller ones with 512 keys, and faster with more. 16384 rows
// in all, D = 128, take 234 us instead of 224 with 512 keys, and 324 instead of 336 with 1024.
constexpr uint32_t fewKeysOfTriangle = 768;
// Splits of fewer keys cost more in beginning, end and merge than they gain.
constexpr uint32_t leastSplitKeys = 256;
// A cache has at least so many times as many keys as there are rows. Large tiles of split keys are faster there. 512
// rows of 32 query heads, 8 KV heads, D = 128, with 16384 keys: 413 us, small tiles 457. With 4096 keys: 126 and 120.
// With 4096 keys where k and v are q4_0: 159 and 172, because each tile of rows decodes their elements again.
constexpr uint32_t cacheKeys = 8;
constexpr uint32_t leastSplitKeysOfLargeHeads = 128;
// Under a causal mask, large heads are split until there are so many workgroups, because the longest takes twice the
// mean. 2048 rows of 8 heads, D = 256: 138 us in 128 workgroups, 104 in 256. 12 heads: 141 us in 192, 161 in 384.
constexpr uint64_t balancedWorkgroups = 160;
// Each of these splits has so many keys. 1024 rows of 16 heads take 76.7 us in 128 workgroups, 80.1 in 256.
constexpr uint32_t leastBalancedSplitKeys = 640;
constexpr uint32_t mostSmallDim = 128;

CoopmatTile tileOf(const Candidate& candidate, const Caps& caps, const MatrixLayout& layout,
                   const TileProblem& problem) {
    CoopmatTile tile;
    tile.layout = layout;
    tile.subgroups = candidate.subgroups;
    tile.rowTiles = candidate.rowTiles;
    tile.keyTiles = candidate.keyTiles;
    tile.headDim = problem.headDim;
    tile.valueDim = problem.valueDim;
    tile.biasBits = problem.biasBits;
    tile.bf16x3 = problem.bf16x3;
    tile.gathersPacked = problem.gathers && problem.packedHeads > 1;
    tile.sharedDepths = sharedDepthsOf(tile, caps, problem);
    return tile;
}

uint64_t enoughWorkgroups(const CoopmatTile& tile) { return fewSubgroups / tile.subgroups; }

// Under a causal mask the longest workgroup takes twice the mean. 2048 rows of 16 heads with D = 128 take 183 us in 128
// workgroups, and 147 in 256 smaller ones.
uint64_t enoughUnderMasks(const CoopmatTile& tile) { return 2 * enoughWorkgroups(tile); }

enum class KeySplits { none, wanted };

// Whether rows of a masked problem may see very different numbers of keys, as under a causal mask. It is true under a
// window, too.
bool isUneven(const TileProblem& problem) { return problem.masked && problem.queryRows > problem.keys / 2; }

// Whether the first tiles of an uneven problem end early. Under a window most rows see the same number of keys.
bool endsEarly(const TileProblem& problem) { return isUneven(problem) && problem.queryRows / 2 < problem.keys; }

// Why the candidate is not for this problem.
Rejection otherProblem(const Candidate& candidate, const TileProblem& problem) {
    const uint32_t mostKeys =
        endsEarly(problem) ? std::min(candidate.mostMaskedKeys, fewKeysOfTriangle) : candidate.mostMaskedKeys;
    const bool otherMask = mostKeys != 0 && problem.maskBlock == 0 && (!problem.masked || problem.keys > mostKeys);
    return firstOf({
        otherDimension(std::max(problem.headDim, problem.valueDim), 0, candidate.mostDim),
        rejectIf(otherMask, {VKF_TILE_MASK, problem.keys, mostKeys}),
    });
}

// Small tiles are taken where large ones would leave multiprocessors idle.
bool isLarge(const CoopmatTile& tile) { return tile.subgroups > subgroupsOfFewRows || tile.rowTiles > 1; }

// With fewer workgroups than these, another tile or more splits are better.
uint64_t leastWorkgroups(const CoopmatTile& tile, const TileProblem& problem, KeySplits keySplits) {
    if (!isLarge(tile) && tile.subgroups == subgroupsOfFewRows && keySplits == KeySplits::none) {
        return fewSmallWorkgroups;
    }
    if (tile.rowTiles > 1 && tile.subgroups > subgroupsOfFewRows && isUneven(problem)) {
        return enoughUnderMasks(tile);
    }
    if (tile.rowTiles > 1 && tile.subgroups == subgroupsOfFewRows && endsEarly(problem)) {
        return moreThanOneWave;
    }
    return enoughWorkgroups(tile);
}

// Why a tile that fits is not a good one for the problem.
Rejection weakness(const CoopmatTile& tile, const TileProblem& problem, KeySplits keySplits, uint64_t workgroups) {
    return firstOf({
        isLarge(tile) ? halfEmpty(tile.rows(), problem.rows()) : Rejection{},
        spillsRegisters(tile.registers(), mostRegisters),
        fewWorkgroups(workgroups, leastWorkgroups(tile, problem, keySplits)),
    });
}

// In a masked problem with about as many rows as keys, most splits would be empty. Smaller tiles are faster than splits
// there (one sequence of 512 and 1024 rows, D = 128, causal, on an H200: 28 and 50 us, splits 44 and 78). Large heads
// are the exception, because their small tiles are slow (D = 256: 91 and 140 us, splits 70 and 76).
uint64_t mostSplits(const TileProblem& problem) {
    if (std::max(problem.headDim, problem.valueDim) > mostSmallDim) {
        return std::max(problem.keys / leastSplitKeysOfLargeHeads, 1U);
    }
    return isUneven(problem) ? 1 : std::max(problem.keys / leastSplitKeys, 1U);
}

// Splits of long rows that make the workgroups of a problem that ends early end at about the same time. 0 for others.
uint64_t balancedSplits(const TileProblem& problem, uint64_t workgroups) {
    const uint64_t wanted = (balancedWorkgroups + workgroups - 1) / workgroups;
    return endsEarly(problem) ? std::min<uint64_t>(wanted, problem.keys / leastBalancedSplitKeys) : 0;
}

// Splits until there are enough workgroups. Where keys are very many, until the workgroups fill an H200 twice.
uint64_t wantedSplits(const CoopmatTile& tile, const TileProblem& problem, uint64_t workgroups) {
    const uint64_t wanted =
        std::max((enoughWorkgroups(tile) + workgroups - 1) / workgroups, balancedSplits(problem, workgroups));
    const uint64_t twice = manyWorkgroups / workgroups;
    return wanted > 1 && problem.keys >= twice * manySplitKeys ? std::max(wanted, twice) : wanted;
}

void considerBuiltIn(const Caps& caps, const MatrixLayout& layout, const TileProblem& problem, BlockTiles tiles,
                     KeySplits keySplits, TileSearch<CoopmatPlan>& search) {
    for (const Candidate& candidate : candidatesFor(caps, layout, problem.bf16x3)) {
        const CoopmatTile tile = tileOf(candidate, caps, layout, problem);
        const uint64_t count = std::max<uint64_t>(problem.workgroups(tile.rows()), 1);
        const uint64_t wanted = std::min(mostSplits(problem), wantedSplits(tile, problem, count));
        const uint64_t splits = keySplits == KeySplits::wanted ? wanted : 1;
        const CoopmatPlan plan = {tile, static_cast<uint32_t>(splits)};
        search.consider(plan, problem.workgroups(tile.rows()),
                        firstOf({
                            otherProblem(candidate, problem),
                            exceedsDevice(tile, caps),
                            otherBlocks(tiles, problem, tile.rows(), tile.keys()),
                            spillsOnAmd(tile, caps),
                            weakness(tile, problem, keySplits, count * splits),
                        }));
    }
}

} // namespace

uint32_t CoopmatTile::sharedBytes() const {
    const uint32_t depth = layout.depth;
    const uint32_t kvWords = parts() * VKF_MATRIX_KV_WORDS(keys(), depth, layout.columns, headDim, valueDim);
    const uint32_t stageWords = subgroups * VKF_MATRIX_STAGE_WORDS(layout.rows, depth, layout.columns);
    const uint32_t viaSharedWords = layout.viaShared ? subgroups * VKF_VIA_SHARED_WORDS(layout.rows, keys()) : 0;
    const uint32_t biasBytes = biasBits != 0 ? rows() * addressBytes : 0;
    const uint32_t queryWords = VKF_MATRIX_SHARED_Q_WORDS(rows(), sharedDepths, depth);
    return (VKF_MAX_WORDS(kvWords, stageWords) + queryWords + viaSharedWords + 1) * wordBytes + biasBytes;
}

uint32_t CoopmatTile::registers() const {
    const uint32_t dimTiles = VKF_MATRIX_TILES(headDim, layout.depth);
    const uint32_t valueTiles = VKF_MATRIX_TILES(valueDim, layout.columns);
    const uint32_t ofQ = parts() * layout.rows * layout.depth / layout.lanes * dimTiles / 2;
    const uint32_t ofBias = layout.elements() * keyMatrices() * biasBits / 32;
    return rowTiles * (ofQ + layout.elements() * (parts() * keyMatrices() + valueTiles) + ofBias);
}

// Under a boolean mask all of q is in registers: an arbitrary mask of half of the keys takes 4.25 ms with 8192 rows of
// 16 heads, D = 128, and 4.59 ms with shared depths. One whose tiles are mostly plain takes 0.87 and 0.84 ms.
uint32_t sharedDepthsOf(CoopmatTile tile, const Caps& caps, const TileProblem& problem) {
    const MatrixLayout& layout = tile.layout;
    if (problem.bf16x3 || problem.keyMask || layout.viaShared || tile.registers() <= crowdedRegisters) {
        return 0;
    }
    const uint32_t ofDepth = tile.rowTiles * layout.rows * layout.depth / layout.lanes / 2;
    tile.sharedDepths = (freedRegisters + ofDepth - 1) / ofDepth;
    while (tile.sharedDepths > 0 && tile.sharedBytes() > caps.maxSharedMemoryBytes) {
        tile.sharedDepths--;
    }
    return tile.sharedDepths;
}

std::string CoopmatTile::text(uint32_t splits) const {
    return tileText(TunedCoopmatTile{subgroups, rowTiles, keyTiles, splits});
}

bool staysBusyUnderMasks(const CoopmatTile& tile, const TileProblem& problem) {
    return problem.workgroups(tile.rows()) >= enoughUnderMasks(tile);
}

CoopmatPlan chooseCoopmatTile(const TunedDevice& device, const MatrixLayout& layout, const TileProblem& problem,
                              ConsideredTiles* considered) {
    TileSearch<CoopmatPlan> search;
    const Caps& caps = device.caps;
    considerTuned(
        device, problem,
        [&](const TuningEntry& entry) {
            const TunedCoopmatTile& t = entry.coopmat;
            return CoopmatPlan{tileOf({t.subgroups, t.rowTiles, t.keyTiles, VKF_MAX_DIM}, caps, layout, problem),
                               t.splits};
        },
        [](const CoopmatTile&) { return Rejection{}; }, search);
    // Smaller tiles are faster than splits, with two exceptions: caches, and large heads, whose small tiles are slow.
    // One sequence of 512 rows, D = 256, takes 130 us in four splits, and 211 us in two with tiles of half the rows.
    const bool small = std::max(problem.headDim, problem.valueDim) <= mostSmallDim &&
                       problem.keys < uint64_t{cacheKeys} * problem.queryRows;
    considerBuiltIn(caps, layout, problem, BlockTiles::inOneBlock, small ? KeySplits::none : KeySplits::wanted, search);
    if (small && !search.settled()) {
        considerBuiltIn(caps, layout, problem, BlockTiles::inOneBlock, KeySplits::wanted, search);
    }
    if (!search.found()) {
        considerBuiltIn(caps, layout, problem, BlockTiles::inSeveralBlocks, KeySplits::wanted, search);
    }
    return search.finish(considered);
}

} // namespace vkf
