// SPDX-License-Identifier: MIT
#include "tiles/backward/backward_tile.hpp"

#include <algorithm>
#include <array>

#include "shared/backward_params.h"
#include "shared/tile_memory.h"
#include "tiles/rejections.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

// More registers than this spill where an invocation has 255, because addresses and counters need some too.
constexpr uint32_t maxBackwardRegisters = 224;

// A tile before the head dimensions are known.
struct BackwardCandidate {
    uint32_t groups;
    uint32_t lanes;
    uint32_t threadOwned;
    uint32_t threadVisited; // at most threadOwned
    uint32_t chunkDim4;     // at most
    uint32_t chunkVisited;  // at most; lanes times a power of two
};

// Best first. The first one has the shape of the forward pass (scalar_tile.cpp). The second to last fits 16 KiB of
// shared memory for every head dimension, the last one takes the fewest registers.
constexpr std::array backwardCandidates = {
    BackwardCandidate{8, 16, 8, 4, 8, 16}, BackwardCandidate{16, 16, 4, 4, 8, 16},
    BackwardCandidate{8, 16, 4, 4, 8, 16}, BackwardCandidate{16, 8, 4, 4, 8, 16},
    BackwardCandidate{8, 8, 4, 4, 8, 16},  BackwardCandidate{8, 8, 4, 2, 8, 8},
    BackwardCandidate{8, 16, 2, 2, 8, 16},
};

// Columns of a sum that an invocation owns, in fours.
uint32_t columns4Of(bool sums, uint32_t dim, uint32_t lanes) { return sums ? (dim + 4 * lanes - 1) / (4 * lanes) : 0; }

BackwardTile tileOf(const BackwardCandidate& candidate, const Caps& caps, const BackwardTileProblem& problem) {
    // Chunks of equal size, so that the last one is full too where the dimension allows it.
    const uint32_t dim4 = (std::max(problem.headDim, problem.valueDim) + 3) / 4;
    const uint32_t chunks = (dim4 + candidate.chunkDim4 - 1) / candidate.chunkDim4;
    BackwardTile tile = {problem.owner,
                         candidate.groups,
                         candidate.lanes,
                         candidate.threadOwned,
                         candidate.threadVisited,
                         (dim4 + chunks - 1) / chunks,
                         candidate.chunkVisited,
                         columns4Of(problem.makesDqOrDk, problem.headDim, candidate.lanes),
                         columns4Of(problem.makesDv, problem.valueDim, candidate.lanes)};
    const auto tooLarge = [&] { return tile.sharedBytes() > caps.maxSharedMemoryBytes; };
    while (tile.chunkVisited > tile.lanes && tooLarge()) {
        tile.chunkVisited /= 2;
    }
    while (tile.chunkDim4 > 1 && tooLarge()) {
        tile.chunkDim4 /= 2;
    }
    return tile;
}

} // namespace

uint32_t BackwardTile::sharedBytes() const {
    const uint32_t columns4 = owner == BackwardOwner::bias ? 1 : std::max(headColumns4, valueColumns4);
    const uint32_t words = VKF_BACKWARD_OWNED_WORDS(owned(), chunkDim4) +
                           VKF_BACKWARD_VISITED_WORDS(visited(), chunkDim4, chunkVisited, lanes * columns4) +
                           VKF_BACKWARD_PAIR_WORDS(owned(), chunkVisited);
    return words * VKF_WORD_BYTES +
           static_cast<uint32_t>(sizeof(uint32_t)); // and last_empty of backward/pair_products.glsl
}

uint32_t BackwardTile::registers() const {
    const auto fetches = [this](uint32_t words) { return (words + workgroupSize() - 1) / workgroupSize() * 4; };
    const uint32_t columns4 = std::max(headColumns4, valueColumns4);
    const uint32_t pairs = threadOwned * threadVisited * (needsDp() ? 2 : 1);
    const uint32_t sums = threadOwned * 4 * (headColumns4 + valueColumns4);
    const uint32_t fetched = std::max(fetches(owned() * chunkDim4) + fetches(visited() * chunkDim4),
                                      fetches(chunkVisited * lanes * columns4));
    const uint32_t fragments = std::max(threadVisited * 4 + 4, 16 * columns4 + 4);
    const uint32_t states = 2 * (owner == BackwardOwner::keys ? threadVisited : threadOwned);
    return pairs + sums + fetched + fragments + states;
}

// Nothing is split here.
std::string BackwardTile::text(uint32_t /*splits*/) const {
    return tileText({{"groups", groups},
                     {"lanes", lanes},
                     {"threadOwned", threadOwned},
                     {"threadVisited", threadVisited},
                     {"chunkDim4", chunkDim4},
                     {"chunkVisited", chunkVisited}});
}

BackwardTile chooseBackwardTile(const Caps& caps, const BackwardTileProblem& problem, ConsideredTiles* considered) {
    constexpr uint32_t few = 8; // a tile that owns 8 rows serves as well for fewer
    TileSearch<TilePlan<BackwardTile>> search;
    for (const BackwardCandidate& candidate : backwardCandidates) {
        const BackwardTile tile = tileOf(candidate, caps, problem);
        const uint64_t workgroups = (uint64_t{problem.owned} + tile.owned() - 1) / tile.owned() * problem.heads;
        search.consider(TilePlan<BackwardTile>{tile}, workgroups,
                        firstOf({
                            exceedsDevice(tile, caps),
                            spillsRegisters(tile.registers(), maxBackwardRegisters),
                            halfEmpty(tile.owned(), std::max(problem.owned, few)),
                        }));
    }
    return search.finish(considered).tile;
}

std::vector<BackwardTile> chooseKeyTiles(const Caps& caps, const BackwardTileProblem& problem) {
    const BackwardTile both = chooseBackwardTile(caps, problem);
    if (!problem.makesDqOrDk || !problem.makesDv) {
        return {both};
    }
    BackwardTileProblem wider = problem;
    wider.makesDqOrDk = problem.headDim >= problem.valueDim;
    wider.makesDv = !wider.makesDqOrDk;
    BackwardTile heads = chooseBackwardTile(caps, wider);
    if (heads.threadOwned <= both.threadOwned) {
        return {both};
    }
    BackwardTile values = heads;
    heads.headColumns4 = columns4Of(true, problem.headDim, heads.lanes);
    heads.valueColumns4 = 0;
    values.headColumns4 = 0;
    values.valueColumns4 = columns4Of(true, problem.valueDim, values.lanes);
    return {heads, values};
}

} // namespace vkf
