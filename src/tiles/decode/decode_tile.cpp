// SPDX-License-Identifier: MIT
#include "tiles/decode/decode_tile.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "shared/tile_memory.h"
#include "tiles/amd/registers.hpp"
#include "tiles/decode/decode_choice.hpp"
#include "tiles/occupancy.hpp"
#include "tiles/rejections.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

// A tile before the head dimensions are known. lab/log-0.4.md has the measurements, all on an H200.
struct DecodeCandidate {
    uint32_t maxRows;
    uint32_t lanes;
    uint32_t workgroupSize;
    bool fewKeys; // the tile is for few keys, where larger tiles leave multiprocessors idle
};

// Best first. Rows share the keys that are read, so that a tile has as many rows as registers hold. With few lanes for
// each key, few sums over lanes are needed.
constexpr std::array decodeCandidates = {
    DecodeCandidate{8, 16, 128, true},  DecodeCandidate{8, 8, 128, false}, DecodeCandidate{8, 16, 128, false},
    DecodeCandidate{8, 32, 128, false}, DecodeCandidate{4, 8, 128, false}, DecodeCandidate{4, 16, 128, false},
    DecodeCandidate{4, 32, 128, false}, DecodeCandidate{2, 8, 128, false}, DecodeCandidate{2, 8, 64, false},
    DecodeCandidate{2, 32, 128, false}, DecodeCandidate{1, 8, 64, false},  DecodeCandidate{1, 4, 32, false},
};

// Words of k that one invocation has in flight, and as many of v.
constexpr uint32_t fetchedWords = 8;
constexpr uint32_t maxThreadKeys = 4;
constexpr uint32_t maxDecodeRegisters = 160;

uint32_t laneWords(uint32_t dim, VkfType type, uint32_t lanes) {
    return VKF_LANE_WORDS(dim, static_cast<uint32_t>(type), lanes);
}

uint32_t rowWords(uint32_t dim, VkfType type) { return laneWords(dim, type, 1); }

DecodeTile tileOf(const DecodeCandidate& candidate, const DecodeProblem& problem) {
    DecodeTile tile;
    tile.headDim = problem.headDim;
    tile.valueDim = problem.valueDim;
    tile.keyType = problem.keyType;
    tile.valueType = problem.valueType;
    const uint32_t words =
        std::max(rowWords(problem.headDim, problem.keyType), rowWords(problem.valueDim, problem.valueType));
    tile.lanes = std::min(candidate.lanes, std::bit_ceil(words));
    tile.groups = candidate.workgroupSize / tile.lanes;
    // Equal tiles of rows, so that the last is as full as the others.
    const uint64_t tiles = std::max<uint64_t>((problem.rows + candidate.maxRows - 1) / candidate.maxRows, 1);
    tile.threadRows = static_cast<uint32_t>(std::max<uint64_t>((problem.rows + tiles - 1) / tiles, 1));
    const uint32_t perKey = std::max(laneWords(problem.headDim, problem.keyType, tile.lanes),
                                     laneWords(problem.valueDim, problem.valueType, tile.lanes));
    tile.threadKeys = std::clamp(fetchedWords / perKey, 1U, maxThreadKeys);
    return tile;
}

// Workgroups that tiles of 64 keys would make.
uint64_t largeTiles(const DecodeProblem& problem) { return problem.keys / 64 * problem.kvHeads; }

} // namespace

uint32_t DecodeTile::sharedBytes() const {
    const auto key = static_cast<uint32_t>(keyType);
    const auto value = static_cast<uint32_t>(valueType);
    const uint32_t states = groups * threadRows; // of two floats
    return (VKF_DECODE_Q_WORDS(threadRows, headDim, key, lanes) +
            VKF_DECODE_O_WORDS(workgroupSize(), valueDim, value, lanes)) *
               VKF_WORD_BYTES +
           states * VKF_WORD_BYTES / 2;
}

uint32_t DecodeTile::registers() const {
    const uint32_t keyWords = laneWords(headDim, keyType, lanes);
    const uint32_t valueWords = laneWords(valueDim, valueType, lanes);
    return outputRegisters() + threadRows * threadKeys + threadKeys * 4 * (keyWords + valueWords);
}

uint32_t DecodeTile::outputRegisters() const {
    const uint32_t valueWords = laneWords(valueDim, valueType, lanes);
    return threadRows * valueWords * 4 * VKF_WORD_QUADS(static_cast<uint32_t>(valueType));
}

std::string DecodeTile::text(uint32_t splits) const {
    return tileText({{"groups", groups},
                     {"lanes", lanes},
                     {"threadRows", threadRows},
                     {"threadKeys", threadKeys},
                     {"splits", splits}});
}

void considerDecodeTiles(const Caps& caps, const DecodeProblem& problem, DecodeSearch& search) {
    const bool manyKeys = largeTiles(problem) >= multiprocessors;
    for (const DecodeCandidate& candidate : decodeCandidates) {
        const DecodeTile tile = tileOf(candidate, problem);
        considerWithSplits(
            caps, tile, problem,
            firstOf({
                exceedsDevice(tile, caps),
                breaksSubgroups(tile.lanes, tile.workgroupSize(), caps),
                rejectIf(candidate.fewKeys && manyKeys, {VKF_TILE_MANY_KEYS, largeTiles(problem), multiprocessors}),
                spillsOnAmd(tile, caps),
                spillsRegisters(tile.registers(), maxDecodeRegisters),
            }),
            search);
    }
}

} // namespace vkf
