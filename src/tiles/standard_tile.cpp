// SPDX-License-Identifier: MIT
#include "tiles/standard_tile.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "shared/tile_memory.h"
#include "tiles/rejections.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

constexpr uint32_t wordElements = 8; // of 16 bits

// A tile before matrix shape and head dimensions are known.
struct ProductCandidate {
    uint32_t subgroups;
    uint32_t rowMatrices;
    uint32_t keyMatrices;
    uint32_t stepSlices;
};

// Largest first. With 16 x 16 matrices the first makes 128 x 128 scores from 20 KiB. Two such workgroups share the 48
// KiB of a multiprocessor of an H200: one multiplies while the other stores its scores.
constexpr std::array productCandidates = {
    ProductCandidate{8, 1, 8, 2}, ProductCandidate{4, 1, 8, 2}, ProductCandidate{2, 1, 8, 2},
    ProductCandidate{1, 1, 4, 2}, ProductCandidate{1, 1, 4, 1},
};

// An invocation of the softmax keeps 32 scores in registers. The other half of its 64 registers stays free.
constexpr uint32_t maxRowWords = 8;
// Each invocation has this many loads in flight before a row gets a larger workgroup.
constexpr uint32_t wantedRowWords = 4;
constexpr uint32_t minSoftmaxInvocations = 32;
constexpr uint32_t maxSoftmaxInvocations = 512;

} // namespace

uint32_t ProductTile::sharedBytes() const {
    const uint32_t stepWords = step() / wordElements;
    const uint32_t valueWords = VKF_MATRICES(valueDim, layout.columns) * layout.columns / wordElements;
    const uint32_t scores = VKF_PRODUCT_WORDS(rows(), stepWords, keys(), stepWords);
    const uint32_t output = VKF_PRODUCT_WORDS(rows(), stepWords, step(), valueWords);
    const uint32_t onTheWayOut = VKF_PRODUCT_OUTPUT_WORDS(subgroups, layout.rows, layout.columns);
    return (std::max({scores, output, onTheWayOut}) + 1) * VKF_WORD_BYTES;
}

uint32_t ProductTile::registers() const {
    return layout.elements() * rowMatrices * std::max(keyMatrices, VKF_MATRICES(valueDim, layout.columns));
}

// Path standard does not split keys.
std::string ProductTile::text(uint32_t /*splits*/) const {
    return tileText(
        {{"subgroups", subgroups}, {"rowTiles", rowMatrices}, {"keyTiles", keyMatrices}, {"chunkKeys", step()}});
}

ProductTile chooseProductTile(const Caps& caps, const MatrixLayout& layout, const TileProblem& problem,
                              ConsideredTiles* considered) {
    TileSearch<TilePlan<ProductTile>> search;
    for (const ProductCandidate& candidate : productCandidates) {
        const ProductTile tile{
            layout,          candidate.subgroups, candidate.rowMatrices, candidate.keyMatrices, candidate.stepSlices,
            problem.valueDim};
        search.consider(TilePlan<ProductTile>{tile}, problem.workgroups(tile.rows()),
                        firstOf({
                            exceedsDevice(tile, caps),
                            halfEmpty(tile.rows(), std::max(problem.queryRows, layout.rows)),
                        }));
    }
    return search.finish(considered).tile;
}

SoftmaxTile chooseSoftmaxTile(const Caps& caps, uint32_t keys) {
    const uint32_t words = std::max((keys + 3) / 4, 1U);
    const uint32_t most = std::min(std::bit_floor(caps.maxInvocations), maxSoftmaxInvocations);
    const uint32_t size = std::clamp(std::bit_ceil((words + wantedRowWords - 1) / wantedRowWords),
                                     std::min(minSoftmaxInvocations, most), most);
    return {size, std::min((words + size - 1) / size, maxRowWords)};
}

} // namespace vkf
