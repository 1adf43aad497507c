// SPDX-License-Identifier: MIT
#include "tiles/standard_tile.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "shared/attention_params.h"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

constexpr uint32_t wordBytes = 16;
constexpr uint32_t wordElements = 8; // of 16 bits

// A tile before matrix shape and head dimensions are known.
struct Candidate {
    uint32_t subgroups;
    uint32_t rowTiles;
    uint32_t keyTiles;
    uint32_t stepDepths;
};

// Largest first. With 16 x 16 matrices the first makes 128 x 128 scores from 20 KiB, so that two workgroups share the
// 48 KiB which a multiprocessor of an H200 has for all, one multiplying while the other stores its scores.
constexpr std::array candidates = {
    Candidate{8, 1, 8, 2}, Candidate{4, 1, 8, 2}, Candidate{2, 1, 8, 2}, Candidate{1, 1, 4, 2}, Candidate{1, 1, 4, 1},
};

// Scores that an invocation of the softmax keeps in registers: 32, beside which half of its 64 are free.
constexpr uint32_t mostRowWords = 8;
// Words that an invocation has at least before a row gets a larger workgroup: loads in flight for each.
constexpr uint32_t wantedRowWords = 4;
constexpr uint32_t leastSoftmaxInvocations = 32;
constexpr uint32_t mostSoftmaxInvocations = 512;

Objection objectionTo(const ProductTile& tile, const Caps& caps, const TileProblem& problem) {
    const uint64_t manyRows = uint64_t{2} * std::max(problem.queryRows, tile.layout.rows);
    return firstObjection({
        {tile.workgroupSize() > caps.maxInvocations, {VKF_TILE_INVOCATIONS, tile.workgroupSize(), caps.maxInvocations}},
        {tile.sharedBytes() > caps.maxSharedMemoryBytes,
         {VKF_TILE_SHARED_MEMORY, tile.sharedBytes(), caps.maxSharedMemoryBytes}},
        {tile.rows() >= manyRows, {VKF_TILE_HALF_EMPTY, tile.rows(), manyRows}},
    });
}

} // namespace

uint32_t ProductTile::sharedBytes() const {
    const uint32_t stepWords = step() / wordElements;
    const uint32_t valueWords = VKF_MATRIX_TILES(valueDim, layout.columns) * layout.columns / wordElements;
    const uint32_t scores = VKF_PRODUCT_WORDS(rows(), stepWords, keys(), stepWords);
    const uint32_t output = VKF_PRODUCT_WORDS(rows(), stepWords, step(), valueWords);
    const uint32_t onTheWayOut = VKF_PRODUCT_OUTPUT_WORDS(subgroups, layout.rows, layout.columns);
    return (std::max({scores, output, onTheWayOut}) + 1) * wordBytes;
}

uint32_t ProductTile::registers() const {
    return layout.elements() * rowTiles * std::max(keyTiles, VKF_MATRIX_TILES(valueDim, layout.columns));
}

std::string tileText(const ProductTile& tile) {
    return tileText({{"subgroups", tile.subgroups},
                     {"rowTiles", tile.rowTiles},
                     {"keyTiles", tile.keyTiles},
                     {"chunkKeys", tile.step()}});
}

ProductTile chooseProductTile(const Caps& caps, const MatrixLayout& layout, const TileProblem& problem,
                              ConsideredTiles* considered) {
    TileSearch<ProductTile> search;
    for (const Candidate& candidate : candidates) {
        const ProductTile tile{
            layout,          candidate.subgroups, candidate.rowTiles, candidate.keyTiles, candidate.stepDepths,
            problem.valueDim};
        ConsideredTile one;
        one.tile = tileText(tile);
        one.rows = tile.rows();
        one.keys = tile.keys();
        one.workgroupSize = tile.workgroupSize();
        one.sharedBytes = tile.sharedBytes();
        one.registers = tile.registers();
        one.workgroups = problem.workgroups(tile.rows());
        one.objection = objectionTo(tile, caps, problem);
        search.consider(tile, one);
    }
    return search.finish(considered);
}

SoftmaxTile chooseSoftmaxTile(const Caps& caps, uint32_t keys) {
    const uint32_t words = std::max((keys + 3) / 4, 1U);
    const uint32_t most = std::min(std::bit_floor(caps.maxInvocations), mostSoftmaxInvocations);
    const uint32_t size = std::clamp(std::bit_ceil((words + wantedRowWords - 1) / wantedRowWords),
                                     std::min(leastSoftmaxInvocations, most), most);
    return {size, std::min((words + size - 1) / size, mostRowWords)};
}

} // namespace vkf
