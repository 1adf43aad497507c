// SPDX-License-Identifier: MIT
#include "tiles/decode_wide_tile.hpp"

#include <array>
#include <bit>

#include "shared/tile_memory.h"
#include "tiles/decode_choice.hpp"
#include "tiles/objections.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

constexpr uint32_t wordBytes = 16;

// Matrices of keys in a tile, best first. The larger tile takes fewer barriers for each key and leaves fewer splits to
// merge. Two workgroups of the smaller one fit a multiprocessor.
constexpr std::array<uint32_t, 2> candidates = {2, 1};

// The invocations of a row are neighbours in a subgroup. The kernel stages q in the shared memory of keys.
bool suits(const DecodeWideTile& tile) {
    const MatrixLayout& layout = tile.layout;
    const bool square = layout.columns == layout.depth && layout.depth % 8 == 0;
    return square && layout.elements() % 2 == 0 && std::has_single_bit(tile.keys()) && tile.keys() >= layout.rows &&
           tile.keys() / 2 <= layout.lanes;
}

} // namespace

uint32_t DecodeWideTile::sharedBytes() const {
    const uint32_t words = keys() * VKF_WIDE_ROW_WORDS(headDim, valueDim, layout.depth, depthSubgroups(), subgroups());
    const uint32_t matrixFloats = layout.rows * layout.columns;
    const uint32_t floats = (subgroups() + 1) * matrixFloats + rows() * keys() / 2 + keys() + 1;
    return words * wordBytes + floats * wordBytes / 4;
}

uint32_t DecodeWideTile::registers() const {
    const uint32_t fetched = (keys() * headDim / 8 + workgroupSize() - 1) / workgroupSize();
    const uint32_t halves = layout.rows * layout.depth / layout.lanes; // of a left operand
    return 4 * fetched + VKF_WIDE_TILES(headDim, layout.depth, depthSubgroups()) * halves / 2 +
           (VKF_WIDE_TILES(valueDim, layout.columns, subgroups()) + 1) * layout.elements();
}

std::string DecodeWideTile::text(uint32_t splits) const {
    return tileText({{"keyMatrices", keyMatrices}, {"subgroups", subgroups()}, {"splits", splits}});
}

void considerDecodeWideTiles(const Caps& caps, const MatrixLayout& layout, const DecodeProblem& problem,
                             DecodeSearch& search) {
    for (const uint32_t keyMatrices : candidates) {
        const DecodeWideTile tile{layout, keyMatrices, problem.headDim, problem.valueDim};
        if (tile.subgroups() == 0) {
            break; // matrices of a single element for each invocation leave no pair of scores
        }
        considerWithSplits(tile, problem,
                           firstOf({
                               objectionIf(!suits(tile), {VKF_TILE_LAYOUT, 0, 0}),
                               exceedsDevice(tile, caps),
                           }),
                           search);
    }
}

} // namespace vkf
