// SPDX-License-Identifier: MIT
#include "matrix_tuning.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "../shaders/shared/attention_params.h"

namespace vkf {
namespace {

constexpr uint32_t wordBytes = 16;

// A tile before matrix shape and head dimensions are known. docs/tuning.md has the measurements.
struct Candidate {
    uint32_t subgroups;
    uint32_t rowTiles;
    uint32_t keyTiles;
    uint32_t mostDim;            // of q and v, whichever is larger
    uint32_t mostMaskedKeys = 0; // if not 0, for masked problems of at most as many keys alone, and block masks
};

// Best first; all for 16 x 16 matrices on an H200, the smaller ones where the larger leave multiprocessors
// idle or do not fit the shared memory.
constexpr std::array registerCandidates = {
    // Two workgroups share the 48 KiB that a multiprocessor has for all, and hide each other's barriers.
    Candidate{4, 2, 4, 64},
    // Two workgroups that take turns at beginning and end, and fewer keys cut by the mask: 1.2 times as fast as
    // the next with 512 keys, 0.9 times with 8192, where it serves blocks that are smaller than the next.
    Candidate{4, 2, 1, 128, 1024},
    // o and q of 32 rows fill the registers: one workgroup of eight subgroups.
    Candidate{8, 2, 2, 128},
    // o of 16 rows does.
    Candidate{8, 1, 2, 256},
    Candidate{4, 1, 2, 256},
    Candidate{2, 1, 2, 256},
    Candidate{1, 1, 2, 256},
    Candidate{1, 1, 1, 256},
};

// The same for matrices whose elements pass through shared memory, of which each subgroup needs a part of its own.
// The last fit 32 KiB for every head dimension.
constexpr std::array exchangeCandidates = {
    Candidate{4, 2, 4, 64},  Candidate{4, 2, 2, 64},  Candidate{8, 2, 2, 128},
    Candidate{4, 2, 2, 128}, Candidate{8, 1, 1, 256}, Candidate{4, 1, 1, 256},
    Candidate{2, 1, 2, 256}, Candidate{1, 1, 2, 256}, Candidate{1, 1, 1, 256},
};

// Workgroups below which a smaller tile serves a problem better: a little less than the multiprocessors of
// an H200, 132.
constexpr uint64_t fewWorkgroups = 120;
constexpr uint32_t mostRegisters = 232;
// Fewer keys for a workgroup cost more in beginning, end and merge than they gain. For large heads smaller tiles cost
// even more: one sequence of 512 rows, D = 256, takes 130 us in four parts, 211 us in two with tiles of half the rows.
constexpr uint32_t leastSplitKeys = 256;
constexpr uint32_t leastSplitKeysOfLargeHeads = 128;
constexpr uint32_t mostSmallDim = 128;

// With more keys the end of a workgroup counts for little, and 32 rows of a subgroup are faster with the
// registers that the compiler then finds (D = 128: +9 % at 512 keys, -4 % at 8192).
constexpr uint32_t mostWordOutputKeys = 2048;

MatrixTile tileOf(const Candidate& candidate, const MatrixLayout& layout, const TileProblem& problem) {
    MatrixTile tile;
    tile.layout = layout;
    tile.subgroups = candidate.subgroups;
    tile.rowTiles = candidate.rowTiles;
    tile.keyTiles = candidate.keyTiles;
    tile.headDim = problem.headDim;
    tile.valueDim = problem.valueDim;
    return tile;
}

bool isFor(const Candidate& candidate, const TileProblem& problem) {
    const bool masks = candidate.mostMaskedKeys == 0 || problem.maskBlock != 0 ||
                       (problem.masked && problem.keys <= candidate.mostMaskedKeys);
    return masks && std::max(problem.headDim, problem.valueDim) <= candidate.mostDim;
}

bool fits(const MatrixTile& tile, const Caps& caps) {
    return tile.workgroupSize() <= caps.maxInvocations && tile.sharedBytes() <= caps.maxSharedMemoryBytes;
}

// Where about as many rows as keys are masked, most parts would be empty. Smaller tiles served such problems better
// than splits (one sequence of 512 and 1024 rows, D = 128, causal, on an H200: 28 and 50 us against 44 and 78), but
// for large heads, whose small tiles are slow (D = 256: 91 and 140 us against 70 and 76).
uint64_t mostSplits(const TileProblem& problem) {
    if (std::max(problem.headDim, problem.valueDim) > mostSmallDim) {
        return std::max(problem.keys / leastSplitKeysOfLargeHeads, 1U);
    }
    const bool mostlyEmpty = problem.masked && problem.queryRows > problem.keys / 2;
    return mostlyEmpty ? 1 : std::max(problem.keys / leastSplitKeys, 1U);
}

// Of the first entry that is about the problem and fits; none if there is no such entry. More parts of rows than
// the kernels can count would be refused where the built-in choice is not.
MatrixPlan tunedPlan(const Caps& caps, const MatrixLayout& layout, const TileProblem& problem) {
    for (const TuningEntry& entry : caps.tuning) {
        if (!isAbout(entry, problem)) {
            continue;
        }
        const TunedMatrixTile& t = entry.matrix;
        const MatrixTile tile = tileOf({t.subgroups, t.rowTiles, t.keyTiles, VKF_MAX_DIM}, layout, problem);
        const uint64_t rowsOfAll = problem.heads * problem.queryRows;
        if (fits(tile, caps) && rowsOfAll <= std::numeric_limits<uint32_t>::max() / t.splits &&
            problem.keepsBlocksWhole(tile.rows(), tile.keys())) {
            return {tile, t.splits, true};
        }
    }
    return {};
}

// None if no candidate is among the tiles that fits the device.
MatrixPlan builtInPlan(const Caps& caps, const MatrixLayout& layout, const TileProblem& problem, BlockTiles tiles) {
    const std::span<const Candidate> candidates =
        layout.exchanged ? std::span<const Candidate>(exchangeCandidates) : registerCandidates;
    MatrixPlan last;
    for (const Candidate& candidate : candidates) {
        const MatrixTile tile = tileOf(candidate, layout, problem);
        if (!isFor(candidate, problem) || !fits(tile, caps) || !isAmong(tiles, problem, tile.rows(), tile.keys())) {
            continue;
        }
        const uint64_t count = std::max<uint64_t>(problem.workgroups(tile.rows()), 1);
        const uint64_t wanted = (fewWorkgroups + count - 1) / count;
        const uint64_t splits = std::min(mostSplits(problem), wanted);
        last = {tile, static_cast<uint32_t>(splits), false};
        if (tile.registers() <= mostRegisters && count * splits >= fewWorkgroups) {
            break;
        }
    }
    return last;
}

} // namespace

uint32_t MatrixTile::sharedBytes() const {
    const uint32_t depth = layout.depth;
    const uint32_t kvWords = VKF_MATRIX_KV_WORDS(keys(), depth, layout.columns, headDim, valueDim);
    const uint32_t stageWords = subgroups * VKF_MATRIX_STAGE_WORDS(layout.rows, depth, layout.columns);
    const uint32_t exchangeWords = layout.exchanged ? subgroups * VKF_MATRIX_EXCHANGE_WORDS(layout.rows, keys()) : 0;
    return (VKF_MAX_WORDS(kvWords, stageWords) + exchangeWords + 1) * wordBytes;
}

uint32_t MatrixTile::registers() const {
    const uint32_t dimTiles = VKF_MATRIX_TILES(headDim, layout.depth);
    const uint32_t valueTiles = VKF_MATRIX_TILES(valueDim, layout.columns);
    const uint32_t ofQ = layout.rows * layout.depth / layout.lanes * dimTiles / 2;
    return rowTiles * (ofQ + layout.elements() * (keyMatrices() + valueTiles));
}

bool outputInWords(const MatrixTile& tile, uint32_t keys) {
    return !tile.layout.exchanged && (keys <= mostWordOutputKeys || tile.rowTiles == 1);
}

MatrixPlan chooseMatrixTile(const Caps& caps, const MatrixLayout& layout, const TileProblem& problem) {
    const MatrixPlan tuned = tunedPlan(caps, layout, problem);
    if (tuned.tuned) {
        return tuned;
    }
    const MatrixPlan plan = builtInPlan(caps, layout, problem, BlockTiles::whole);
    return plan.tile.subgroups != 0 ? plan : builtInPlan(caps, layout, problem, BlockTiles::cut);
}

} // namespace vkf
