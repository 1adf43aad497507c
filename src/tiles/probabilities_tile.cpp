// SPDX-License-Identifier: MIT
#include "tiles/probabilities_tile.hpp"

#include <array>

#include "shared/tile_memory.h"
#include "tiles/rejections.hpp"
#include "tiles/tile_search.hpp"
#include "tiles/tuning_file.hpp"

namespace vkf {
namespace {

// Up to this many rows get a tile of few rows and many keys.
constexpr uint32_t smallTileRows = 8;

// Best first. The last tile of each list takes 11 KiB and 6 KiB of shared memory.
constexpr std::array manyRowTiles = {ProbabilitiesTile{8, 16, 8, 4, 8}, ProbabilitiesTile{8, 16, 8, 4, 4},
                                     ProbabilitiesTile{8, 16, 2, 4, 4}};
constexpr std::array fewRowTiles = {ProbabilitiesTile{8, 16, 1, 8, 8}, ProbabilitiesTile{8, 16, 1, 8, 4},
                                    ProbabilitiesTile{8, 16, 1, 4, 4}};

} // namespace

// The stages of q and k, and two numbers for each row.
uint32_t ProbabilitiesTile::sharedBytes() const {
    const uint32_t words = VKF_Q_WORDS(rows(), chunkDim4) + VKF_K_WORDS(keys(), chunkDim4);
    return words * VKF_WORD_BYTES + rows() * 2 * static_cast<uint32_t>(sizeof(uint32_t));
}

uint32_t ProbabilitiesTile::registers() const { return threadRows * threadKeys + threadKeys * 4 + 4; }

// The keys are not split here.
std::string ProbabilitiesTile::text(uint32_t /*splits*/) const {
    return tileText({{"groups", groups},
                     {"lanes", lanes},
                     {"threadRows", threadRows},
                     {"threadKeys", threadKeys},
                     {"chunkDim4", chunkDim4}});
}

// A plan does not explain this choice, so that nobody asks for the list.
ProbabilitiesTile chooseProbabilitiesTile(const Caps& caps, uint32_t rows) {
    TileSearch<TilePlan<ProbabilitiesTile>> search;
    for (const ProbabilitiesTile& tile : rows <= smallTileRows ? fewRowTiles : manyRowTiles) {
        const uint64_t workgroups = (uint64_t{rows} + tile.rows() - 1) / tile.rows();
        search.consider(TilePlan<ProbabilitiesTile>{tile}, workgroups, exceedsDevice(tile, caps));
    }
    return search.finish(nullptr).tile;
}

} // namespace vkf
