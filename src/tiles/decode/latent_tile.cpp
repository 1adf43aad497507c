// SPDX-License-Identifier: MIT
#include "tiles/decode/latent_tile.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "shared/tile_memory.h"
#include "tiles/amd/registers.hpp"
#include "tiles/decode/decode_choice.hpp"
#include "tiles/rejections.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

struct LatentCandidate {
    uint32_t rowMatrices;
    uint32_t keyMatrices;
};

// Best first. Two matrices of rows read k and v half as often, but they leave half as many workgroups, so that the keys
// are split further. Two matrices of keys take fewer barriers for each key and leave fewer splits to merge. Two
// workgroups of the smallest tile fit a multiprocessor.
constexpr std::array<LatentCandidate, 3> latentCandidates = {{{2, 2}, {1, 2}, {1, 1}}};

// Pairs of a packed row and a key from which on two matrices of rows are faster, where v is a view of k. Where v is
// not, they are faster for fewer pairs too. D = 576, Dv = 512, one KV head, v in k, in us:
//
//     packed rows    keys    one matrix of rows    two
//              32   16384                  22.5   24.2
//              64    4096                  15.9   18.3
//              64   16384                  33.9   32.4
//             256   16384                   106     88
constexpr uint64_t pairsOfTwoRowMatrices = 1 << 20;

// The invocations of a row are neighbours in a subgroup. The kernel stages q in the shared memory of keys.
bool suits(const LatentTile& tile) {
    const MatrixLayout& layout = tile.layout;
    const bool square = layout.columns == layout.depth && layout.depth % 8 == 0;
    return square && layout.elements() % (2 * tile.rowMatrices) == 0 && std::has_single_bit(tile.keys()) &&
           tile.keys() >= tile.rows() && tile.keys() / 2 <= layout.lanes;
}

// The problem has too few rows for several matrices of rows.
Rejection fewRows(const LatentTile& tile, const DecodeProblem& problem) {
    const uint64_t keys = std::max<uint64_t>(problem.kvHeads * problem.keys, 1);
    const uint64_t limit = std::max<uint64_t>(tile.layout.rows, (pairsOfTwoRowMatrices - 1) / keys);
    return rejectIf(tile.rowMatrices > 1 && problem.rows <= limit, {VKF_TILE_FEW_ROWS, problem.rows, limit});
}

} // namespace

uint32_t LatentTile::sharedBytes() const {
    const uint32_t words =
        keys() * VKF_LATENT_ROW_WORDS(headDim, valueDim, layout.depth, depthSubgroups(), subgroups());
    const uint32_t matrixFloats = layout.rows * layout.columns;
    const uint32_t entries = chosenKeys ? 2 * keys() : 0; // of the list of chosen keys, for two tiles
    const uint32_t floats = subgroups() * matrixFloats + rows() * keys() / 2 + keys() + 1 + entries;
    return words * VKF_WORD_BYTES + floats * VKF_WORD_BYTES / 4;
}

uint32_t LatentTile::registers() const {
    const uint32_t fetched = (keys() * headDim / 8 + workgroupSize() - 1) / workgroupSize();
    const uint32_t halves = layout.rows * layout.depth / layout.lanes; // of a left operand
    return 4 * fetched + VKF_LATENT_MATRICES(headDim, layout.depth, depthSubgroups()) * halves / 2 +
           (rowMatrices * VKF_LATENT_MATRICES(valueDim, layout.columns, subgroups()) + 1) * layout.elements();
}

std::string LatentTile::text(uint32_t splits) const {
    return tileText(
        {{"rowTiles", rowMatrices}, {"keyMatrices", keyMatrices}, {"subgroups", subgroups()}, {"splits", splits}});
}

void considerLatentTiles(const Caps& caps, const MatrixLayout& layout, const DecodeProblem& problem,
                         DecodeSearch& search) {
    for (const auto& [rowMatrices, keyMatrices] : latentCandidates) {
        const LatentTile tile{layout, rowMatrices, keyMatrices, problem.headDim, problem.valueDim, problem.chosenKeys};
        if (tile.subgroups() == 0) {
            continue; // matrices of few elements for each invocation leave no pair of scores
        }
        considerWithSplits(caps, tile, problem,
                           firstOf({
                               rejectIf(!suits(tile), {VKF_TILE_LAYOUT, 0, 0}),
                               exceedsDevice(tile, caps),
                               fewRows(tile, problem),
                               spillsOnAmd(tile, caps),
                           }),
                           search);
    }
}

} // namespace vkf
