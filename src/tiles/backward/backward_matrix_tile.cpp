// SPDX-License-Identifier: MIT
#include "tiles/backward/backward_matrix_tile.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "shared/backward_params.h"
#include "shared/tile_memory.h"
#include "tiles/rejections.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

// More registers than this spill where an invocation has 255, because operands, addresses and counters need some too.
constexpr uint32_t maxBackwardMatrixRegisters = 232;
// A limit for tuning data, as in scalar_tile.cpp.
constexpr uint32_t maxTunedBackwardRegisters = 255;
// Fewer workgroups than this leave multiprocessors of an H200 idle.
constexpr uint64_t manyWorkgroups = 128;
constexpr uint32_t smallSubgroups = 4;

// A tile before matrix shape and head dimensions are known.
struct BackwardMatrixCandidate {
    uint32_t subgroups;
    uint32_t ownedMatrices;
    uint32_t steps;
    bool twoStages;
    uint32_t depthSubgroups;
    uint32_t maxDim; // of q and v, whichever is larger
};

// Best first, for 16 x 16 matrices. lab/log-0.4.md, "The backward pass", has the measurements.
constexpr std::array registerCandidates = {
    // Two workgroups share the 48 KiB that a multiprocessor has for all. One computes while the other one fetches.
    BackwardMatrixCandidate{4, 2, 4, false, 1, 64},
    // Operands and sums of 16 rows or keys fill the registers: one workgroup of eight subgroups, which fetches ahead.
    BackwardMatrixCandidate{8, 1, 2, true, 1, 128},
    // Twice as many workgroups, two of which share a multiprocessor.
    BackwardMatrixCandidate{4, 1, 1, true, 1, 128},
    BackwardMatrixCandidate{8, 1, 1, true, 1, 256},
    // Half of the columns of 16 rows or keys fill the registers.
    BackwardMatrixCandidate{8, 1, 1, false, 2, 256},
    BackwardMatrixCandidate{4, 1, 1, false, 2, 256},
    BackwardMatrixCandidate{4, 1, 1, false, 1, 256},
    BackwardMatrixCandidate{2, 1, 1, false, 1, 256},
    BackwardMatrixCandidate{1, 1, 1, false, 1, 256},
};

// Best first, for matrices whose elements pass through shared memory, of which each subgroup needs a part.
constexpr std::array viaSharedCandidates = {
    BackwardMatrixCandidate{4, 2, 2, true, 1, 64},   BackwardMatrixCandidate{4, 1, 2, true, 1, 128},
    BackwardMatrixCandidate{4, 1, 1, true, 1, 256},  BackwardMatrixCandidate{4, 1, 1, false, 2, 256},
    BackwardMatrixCandidate{4, 1, 1, false, 1, 256}, BackwardMatrixCandidate{2, 1, 1, false, 1, 256},
    BackwardMatrixCandidate{1, 1, 1, false, 1, 256},
};

std::span<const BackwardMatrixCandidate> candidatesOf(const MatrixLayout& layout) {
    return layout.viaShared ? std::span<const BackwardMatrixCandidate>(viaSharedCandidates) : registerCandidates;
}

uint32_t stepOf(const MatrixLayout& layout) { return std::max(layout.columns, layout.depth); }

BackwardMatrixTile tileOf(const BackwardMatrixCandidate& candidate, const MatrixLayout& layout,
                          const BackwardTileProblem& problem) {
    return {layout,           problem.owner,       candidate.subgroups,      candidate.ownedMatrices,
            candidate.steps,  candidate.twoStages, candidate.depthSubgroups, problem.headDim,
            problem.valueDim, problem.makesDqOrDk, problem.makesDv,          problem.dropout,
            problem.storesP};
}

TunedKernel kernelOf(const BackwardTileProblem& problem) {
    if (problem.owner != BackwardOwner::keys) {
        return TunedKernel::dq;
    }
    if (!problem.makesDqOrDk) {
        return TunedKernel::dv;
    }
    return problem.makesDv ? TunedKernel::dkAndDv : TunedKernel::dk;
}

uint64_t workgroupsOf(const BackwardMatrixTile& tile, const BackwardTileProblem& problem) {
    return (uint64_t{problem.owned} + tile.owned() - 1) / tile.owned() * problem.heads;
}

// Considers the tiles of tuning data, in the order of the entries.
void considerEntries(const TunedDevice& device, const MatrixLayout& layout, const BackwardTileProblem& problem,
                     TileSearch<TilePlan<BackwardMatrixTile>>& search) {
    for (const TuningEntry& entry : device.tuning) {
        if (problem.storesP || !isAbout(entry, kernelOf(problem), problem.call)) {
            continue;
        }
        const TunedBackwardTile& t = entry.backward;
        BackwardMatrixTile tile = tileOf(
            {t.subgroups, t.ownedMatrices, t.steps, t.stages == 2, t.depthSubgroups, VKF_MAX_DIM}, layout, problem);
        tile.tuned = true;
        search.consider(TilePlan<BackwardMatrixTile>{tile, 1, true}, workgroupsOf(tile, problem),
                        firstOf({
                            exceedsDevice(tile, device.caps),
                            spillsRegisters(tile.registers(), maxTunedBackwardRegisters),
                        }));
    }
}

} // namespace

uint32_t BackwardMatrixTile::visited() const { return steps * stepOf(layout); }

uint32_t BackwardMatrixTile::sharedBytes() const {
    const uint32_t unit = stepOf(layout);
    const uint32_t valueRow = VKF_BACKWARD_MATRIX_ROW_WORDS(valueDim, unit, depthSubgroups);
    const uint32_t rowWords = VKF_BACKWARD_MATRIX_ROW_WORDS(headDim, unit, depthSubgroups) + valueRow;
    const uint32_t stagedRows = (twoStages ? 2 : 1) * visited();
    const uint32_t subgroupWords = subgroups * VKF_MATRIX_STAGE_WORDS(layout.rows, layout.depth, layout.columns);
    const uint32_t viaSharedWords = layout.viaShared ? subgroups * VKF_VIA_SHARED_WORDS(layout.rows, unit) : 0;
    const uint32_t joined = 2 * ownedMatrices * unit / layout.columns; // matrices of a subgroup
    const uint32_t joinWords =
        depthSubgroups > 1 ? subgroups * joined * layout.rows * VKF_BACKWARD_JOIN_ROW_WORDS(layout.columns) : 1;
    const uint32_t states = owner == BackwardOwner::keys ? stagedRows : 1;
    const uint32_t dropouts = owner == BackwardOwner::keys && dropout ? stagedRows : 1;
    // The last two words are overflowed, last_empty and last_special of backward_coopmat/globals.glsl.
    return (VKF_MAX_WORDS(stagedRows * rowWords, subgroupWords) + viaSharedWords + joinWords + dropouts + 2) *
               VKF_WORD_BYTES +
           states * 2 * static_cast<uint32_t>(sizeof(float));
}

uint32_t BackwardMatrixTile::registers() const {
    const uint32_t elements = layout.elements();
    const uint32_t operand = layout.rows * layout.depth / layout.lanes / 2;
    const auto share = [this](uint32_t dim, uint32_t side) { return VKF_BACKWARD_SHARE(dim, side, depthSubgroups); };
    const uint32_t headSlices = share(headDim, layout.depth);
    const uint32_t valueSlices = needsDp() ? share(valueDim, layout.depth) : 0;
    const uint32_t headColumns = dqOrDk ? share(headDim, layout.columns) : 0;
    const uint32_t valueColumns = dv ? share(valueDim, layout.columns) : 0;
    const uint32_t pairs = ownedMatrices * elements * (needsDp() ? 2 : 1) * stepOf(layout) / layout.columns;
    const auto fetches = [this](uint32_t dim) {
        return (visited() * ((dim + 7) / 8) + workgroupSize() - 1) / workgroupSize() * 4;
    };
    const uint32_t fetched = fetches(headDim) + fetches(valueDim);
    const bool fetchesAhead = twoStages || steps == 1; // while there are pairs
    return ownedMatrices * (operand * (headSlices + valueSlices) + elements * (headColumns + valueColumns)) +
           (fetchesAhead ? pairs + fetched : std::max(pairs, fetched));
}

// Nothing is split here.
std::string BackwardMatrixTile::text(uint32_t /*splits*/) const {
    return tileText(TunedBackwardTile{subgroups, ownedMatrices, steps, twoStages ? 2U : 1U, depthSubgroups});
}

BackwardMatrixTile chooseBackwardMatrixTile(const TunedDevice& device, const MatrixLayout& layout,
                                            const BackwardTileProblem& problem, ConsideredTiles* considered) {
    TileSearch<TilePlan<BackwardMatrixTile>> search;
    considerEntries(device, layout, problem, search);
    for (const BackwardMatrixCandidate& candidate : candidatesOf(layout)) {
        const BackwardMatrixTile tile = tileOf(candidate, layout, problem);
        const uint64_t workgroups = workgroupsOf(tile, problem);
        const bool large = tile.subgroups > smallSubgroups || tile.ownedMatrices > 1;
        const uint32_t dim = std::max(problem.headDim, problem.valueDim);
        search.consider(TilePlan<BackwardMatrixTile>{tile}, workgroups,
                        firstOf({
                            otherDimension(dim, 0, candidate.maxDim),
                            exceedsDevice(tile, device.caps),
                            spillsRegisters(tile.registers(), maxBackwardMatrixRegisters),
                            halfEmpty(tile.owned(), std::max(problem.owned, layout.rows)),
                            fewWorkgroups(workgroups, large ? manyWorkgroups : 0),
                        }));
    }
    return search.finish(considered).tile;
}

std::vector<BackwardMatrixTile> chooseKeyMatrixTiles(const TunedDevice& device, const MatrixLayout& layout,
                                                     const BackwardTileProblem& problem, bool sameKeys) {
    const BackwardMatrixTile both = chooseBackwardMatrixTile(device, layout, problem);
    if (!problem.makesDqOrDk || !problem.makesDv || both.tuned) {
        return {both};
    }
    BackwardTileProblem one = problem;
    one.makesDv = false;
    const BackwardMatrixTile heads = chooseBackwardMatrixTile(device, layout, one);
    one.makesDqOrDk = false;
    one.makesDv = true;
    BackwardMatrixTile values = chooseBackwardMatrixTile(device, layout, one);
    const bool spillsLess = both.registers() > maxBackwardMatrixRegisters && heads.workgroupSize() != 0 &&
                            heads.registers() <= maxBackwardMatrixRegisters;
    if (!spillsLess && !(heads.tuned && values.tuned)) {
        return {both};
    }
    if (sameKeys) {
        values = heads;
        values.dqOrDk = false;
        values.dv = true;
    }
    return {heads, values};
}

} // namespace vkf
