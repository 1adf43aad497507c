// SPDX-License-Identifier: MIT
#include "tiles/scalar_tile.hpp"

#include <algorithm>
#include <array>

#include "device/chips.hpp"
#include "shared/attention_params.h"
#include "shared/tile_memory.h"
#include "tiles/amd/registers.hpp"
#include "tiles/occupancy.hpp"
#include "tiles/rejections.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

// A tile before the head dimensions are known. lab/log-0.4.md has the measurements.
struct ScalarCandidate {
    uint32_t groups;
    uint32_t lanes;
    uint32_t threadRows;
    uint32_t threadKeys;
    uint32_t chunkDim4; // at most
    uint32_t chunkKeys; // at most; lanes times a power of two
    uint32_t minValueDim;
    uint32_t maxValueDim;
    bool outputF32;               // the tile is for fp32 outputs alone
    uint32_t minWorkgroups;       // with fewer workgroups a later tile is faster
    uint32_t minScalarWorkgroups; // the same limit on path scalar, for the workgroups of all splits
};

// Best first. The kernel stages 32 columns of q and k at a time, because these are a cache line in fp32. 16 columns
// cost 15 % on an NVIDIA H200.
constexpr std::array scalarCandidates = {
    // Two workgroups fit a multiprocessor of the H200: its driver gives 48 KiB of shared memory to all workgroups of a
    // multiprocessor. Where even splits leave multiprocessors idle, half of the rows take half of the time.
    ScalarCandidate{8, 16, 8, 4, 8, 16, 1, 128, false, 0, 120},
    // One workgroup of twice the rows: eight rows of an invocation halve the reads of v. The compiler of the H200 moves
    // the accumulators to memory when it packs this many 16-bit outputs, at half the speed. Fewer workgroups than the
    // 132 multiprocessors leave some of them idle. A device with few multiprocessors loses little.
    ScalarCandidate{16, 16, 8, 4, 8, 16, 129, 256, true, 128, 128},
    ScalarCandidate{8, 16, 4, 4, 8, 16, 1, 256, false, 0, 0},
    ScalarCandidate{8, 16, 4, 2, 8, 16, 1, 256, false, 0, 0},
    ScalarCandidate{16, 8, 4, 4, 8, 16, 1, 256, false, 0, 0},
    ScalarCandidate{8, 8, 4, 4, 8, 16, 1, 256, false, 0, 0},
    ScalarCandidate{8, 8, 2, 4, 8, 8, 1, 256, false, 0, 0},
    ScalarCandidate{8, 16, 2, 2, 8, 16, 1, 256, false, 0, 0},
    ScalarCandidate{16, 4, 2, 4, 8, 8, 1, 256, false, 0, 0},
    ScalarCandidate{32, 4, 1, 4, 8, 8, 1, 256, false, 0, 0},
};

// A limit for tuning data. No known device has more registers for an invocation. A tile with more was never measured,
// and takes long to compile.
constexpr uint32_t maxTunedScalarRegisters = 255;

// More registers than this spill where an invocation has 255, because addresses and counters need some too.
constexpr uint32_t maxScalarRegisters = 224;

// Why the candidate is not for this problem.
Rejection otherProblem(const ScalarCandidate& candidate, const TileProblem& problem) {
    return firstOf({
        otherDimension(problem.valueDim, candidate.minValueDim, candidate.maxValueDim),
        rejectIf(candidate.outputF32 && !problem.outputF32, {VKF_TILE_OUTPUT_TYPE, 0, 0}),
    });
}

// Estimates the time of the tile with `splits` key splits, in microseconds.
double timeOf(const Chip::Scalar& chip, const ScalarTile& tile, const TileProblem& problem, uint64_t splits) {
    const auto divideUp = [](uint64_t count, uint64_t size) { return (count + size - 1) / size; };
    const uint64_t resident = residentWorkgroups(tile.workgroupSize(), tile.registers(), tile.sharedBytes());
    const uint64_t ofMultiprocessor = divideUp(problem.workgroups(tile.rows()) * splits, multiprocessors);
    const uint64_t rest = ofMultiprocessor % resident;
    const double alone = rest == 1 ? chip.aloneFactor : static_cast<double>(rest);
    const double inTurn = static_cast<double>(ofMultiprocessor - rest) + alone;
    const double columns = static_cast<double>(problem.headDim) + problem.valueDim;
    const double ofTile = 2.0 * tile.rows() * tile.keys() * columns / chip.operationsOfMultiprocessor;
    const auto tiles = static_cast<double>(divideUp(divideUp(problem.keys, tile.keys()), splits));
    const double time =
        tiles * ofTile * inTurn + static_cast<double>(divideUp(ofMultiprocessor, resident)) * chip.prologueAndEpilogue;
    const double scratch =
        2.0 * sizeof(float) * static_cast<double>(problem.heads * problem.queryRows * splits) * problem.valueDim;
    return splits == 1 ? time : time + chip.merge + scratch / chip.partialResultBytes;
}

// A split costs more time than the merge of all splits. So it is worth as many workgroups as run at once, and splits
// may be short.
uint32_t chooseSplits(const Chip::Scalar& chip, const ScalarTile& tile, const TileProblem& problem) {
    const uint64_t workgroups = problem.workgroups(tile.rows());
    const uint64_t slots =
        multiprocessors * residentWorkgroups(tile.workgroupSize(), tile.registers(), tile.sharedBytes());
    const uint64_t most = std::min<uint64_t>(problem.keys / chip.minSplitKeys, VKF_MAX_SPLITS);
    uint32_t best = 1;
    double least = timeOf(chip, tile, problem, 1);
    for (uint32_t splits = 2; splits <= most && splits * workgroups <= chip.enoughWaves * slots; splits++) {
        const double time = timeOf(chip, tile, problem, splits);
        if (time < chip.worthIt * least) {
            least = time;
            best = splits;
        }
    }
    return best;
}

// Why a tile that fits is not a good one for the problem.
Rejection weakness(const ScalarCandidate& candidate, const ScalarPlan& plan, const TileProblem& problem) {
    constexpr uint32_t fewRows = 8; // a tile of 8 rows serves as well for fewer
    const uint32_t least = problem.path == VKF_PATH_SCALAR ? candidate.minScalarWorkgroups : candidate.minWorkgroups;
    return firstOf({
        spillsRegisters(plan.tile.registers(), maxScalarRegisters),
        halfEmpty(plan.tile.rows(), std::max(problem.queryRows, fewRows)),
        fewWorkgroups(problem.workgroups(plan.tile.rows()) * plan.splits, least),
    });
}

// The candidate at the dimensions of the problem. Stages smaller pieces where shared memory is small.
ScalarTile tileOf(const ScalarCandidate& candidate, const Caps& caps, const TileProblem& problem) {
    ScalarTile tile;
    tile.groups = candidate.groups;
    tile.lanes = candidate.lanes;
    tile.threadRows = candidate.threadRows;
    tile.threadKeys = candidate.threadKeys;
    tile.threadColumns4 = (problem.valueDim + 4 * candidate.lanes - 1) / (4 * candidate.lanes);
    // Chunks of equal size, so that the last one is full too where the dimension allows it.
    const uint32_t dim4 = (problem.headDim + 3) / 4;
    const uint32_t chunks = (dim4 + candidate.chunkDim4 - 1) / candidate.chunkDim4;
    tile.chunkDim4 = (dim4 + chunks - 1) / chunks;
    tile.chunkKeys = candidate.chunkKeys;
    const auto tooLarge = [&] { return tile.sharedBytes() > caps.maxSharedMemoryBytes; };
    while (tile.chunkKeys > tile.lanes && tooLarge()) {
        tile.chunkKeys /= 2;
    }
    while (tile.chunkDim4 > 1 && tooLarge()) {
        tile.chunkDim4 /= 2;
    }
    return tile;
}

ScalarPlan tunedPlan(const TunedScalarTile& t, const Caps& caps, const TileProblem& problem) {
    const ScalarCandidate candidate = {
        t.groups, t.lanes, t.threadRows, t.threadKeys, t.chunkDim4, t.chunkKeys, 1, VKF_MAX_DIM, false, 0, 0};
    return {tileOf(candidate, caps, problem), t.splits};
}

void considerBuiltIn(const Caps& caps, const TileProblem& problem, BlockTiles tiles, TileSearch<ScalarPlan>& search) {
    const bool maySplit = problem.path == VKF_PATH_SCALAR && caps.storage16();
    for (const ScalarCandidate& candidate : scalarCandidates) {
        const ScalarTile tile = tileOf(candidate, caps, problem);
        const ScalarPlan plan = {tile, maySplit ? chooseSplits(chipOf(caps).scalar, tile, problem) : 1};
        search.consider(plan, problem.workgroups(tile.rows()),
                        firstOf({
                            otherProblem(candidate, problem),
                            exceedsDevice(tile, caps),
                            breaksSubgroups(tile.lanes, tile.workgroupSize(), caps),
                            otherBlocks(tiles, problem, tile.rows(), tile.keys()),
                            spillsOnAmd(tile, caps),
                            weakness(candidate, plan, problem),
                        }));
    }
}

} // namespace

uint32_t ScalarTile::sharedBytes() const {
    const uint32_t kWords = VKF_K_WORDS(keys(), chunkDim4);
    const uint32_t vWords = VKF_V_WORDS(chunkKeys, lanes * threadColumns4);
    const uint32_t qWords = VKF_Q_WORDS(rows(), chunkDim4);
    const uint32_t pWords = VKF_P_WORDS(rows(), chunkKeys);
    constexpr uint32_t absentPagesBytes = sizeof(uint32_t); // cache/absent_pages.glsl
    return (qWords + VKF_MAX_WORDS(kWords, vWords) + pWords) * VKF_WORD_BYTES + absentPagesBytes;
}

uint32_t ScalarTile::registers() const {
    const uint32_t s = threadRows * threadKeys;
    const uint32_t o = threadRows * threadColumns4 * 4;
    const uint32_t scoreFragments = threadKeys * 4 + 4;
    const uint32_t outputFragments = threadRows * 4 + 16;
    return s + o + std::max(scoreFragments, outputFragments) + 2 * threadRows;
}

std::string ScalarTile::text(uint32_t splits) const {
    return tileText(TunedScalarTile{groups, lanes, threadRows, threadKeys, chunkDim4, chunkKeys, splits});
}

ScalarPlan chooseScalarTile(const TunedDevice& device, const TileProblem& problem, ConsideredTiles* considered) {
    const Caps& caps = device.caps;
    TileSearch<ScalarPlan> search;
    considerTuned(
        device, problem, [&](const TuningEntry& entry) { return tunedPlan(entry.scalar, caps, problem); },
        [&](const ScalarTile& tile) {
            return firstOf({
                breaksSubgroups(tile.lanes, tile.workgroupSize(), caps),
                spillsRegisters(tile.registers(), maxTunedScalarRegisters),
            });
        },
        search);
    considerBuiltIn(caps, problem, BlockTiles::inOneBlock, search);
    if (!search.found()) {
        considerBuiltIn(caps, problem, BlockTiles::inSeveralBlocks, search);
    }
    return search.finish(considered);
}

} // namespace vkf
