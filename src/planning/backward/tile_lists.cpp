// SPDX-License-Identifier: MIT
#include "planning/backward/tile_lists.hpp"

#include <algorithm>
#include <utility>

#include "planning/backward/backward_decision.hpp"
#include "planning/tile_map_sizes.hpp"
#include "shared/backward_params.h"
#include "tiles/tile_problem.hpp"

namespace vkf {
namespace {

constexpr uint64_t listWordBytes = 16;

// Rows of the tiles that sum over stored ds and p, all of which divide them. A kernel that stores writes zeros for the
// empty tiles among so many rows. If such tiles do not nest in a word of bits (readBits of list_tiles.comp), it does
// for all.
uint32_t readRows(const BandChoice& bands) {
    constexpr uint32_t wordTiles = 32;
    const auto readers = bands.sums();
    uint32_t rows = bands.store.rows();
    for (const BackwardSumTile* reader : readers) {
        rows = reader->workgroupSize() != 0 ? std::max(rows, reader->rows()) : rows;
    }
    const bool nest = std::all_of(readers.begin(), readers.end(), [&](const BackwardSumTile* reader) {
        return reader->workgroupSize() == 0 || (bands.store.keys() % reader->keys() == 0 && rows % reader->rows() == 0);
    });
    return nest && rows % bands.store.rows() == 0 && wordTiles % (rows / bands.store.rows()) == 0 ? rows
                                                                                                  : VKF_READS_ALL;
}

auto findLists(const std::vector<TileLists>& lists, const ListedTiles& tiles) {
    return std::find_if(lists.begin(), lists.end(), [&](const TileLists& one) { return one.tiles == tiles; });
}

class ListBuilder {
public:
    ListBuilder(const CheckedProblem& forward, const TileMapChoice& map)
        : forward_(forward), maps_(tileMapSizes(forward, map, 1).maps),
          end_(tileMapSizes(forward, map, 1).words * mapWordBytes) {}

    void add(const ListedTiles& tiles, uint32_t read = 0) {
        if (findLists(lists_, tiles) != lists_.end()) {
            return;
        }
        const VkfProblem& p = forward_.fields;
        const bool keys = tiles.owner == BackwardOwner::keys;
        const uint64_t owned = keys ? tilesOf(p.keys, tiles.keys) : tilesOf(p.queryRows, tiles.rows);
        const uint64_t visited = keys ? tilesOf(p.queryRows, tiles.rows) : tilesOf(p.keys, tiles.keys);
        TileLists made{tiles, read, maps_ * tilesOf(visited, tiles.most) * owned, end_};
        end_ += made.bytes();
        lists_.push_back(made);
    }
    template <KernelTile Tile> void add(const PairTiles<Tile>& tiles) {
        if (tiles.rows && tiles.rows->workgroupSize() != 0) {
            add(listedTiles(forward_, *tiles.rows));
        }
        for (const Tile& tile : tiles.keys) {
            if (tile.workgroupSize() != 0) {
                add(listedTiles(forward_, tile));
            }
        }
    }

    std::vector<TileLists> take() { return std::move(lists_); }

private:
    const CheckedProblem& forward_;
    uint64_t maps_;
    uint64_t end_; // of the map and the lists so far
    std::vector<TileLists> lists_;
};

} // namespace

uint64_t TileLists::bytes() const { return lists * VKF_LIST_WORDS(uint64_t{tiles.most}) * listWordBytes; }

void TileLists::set(Constants* constants) const {
    (*constants)[VKF_ID_TILE_LISTS] = static_cast<uint32_t>(begin / listWordBytes);
    (*constants)[VKF_ID_LISTED_TILES] = tiles.most;
}

ListedTiles listedSteps(const CheckedProblem& forward, const BackwardDecision& decision, const BackwardSumTile& tile) {
    ListedTiles tiles = listedTiles(forward, tile);
    if (tile.owner == BackwardOwner::rows) {
        tiles.most = decision.bandKeys() / tile.keys();
    }
    return tiles;
}

std::vector<TileLists> chooseTileLists(const CheckedProblem& forward, const BackwardDecision& decision) {
    ListBuilder builder(forward, *decision.map);
    if (decision.bands) {
        const BandChoice& bands = *decision.bands;
        // Before others with this tile, which read no empty tiles.
        builder.add(listedTiles(forward, bands.store), readRows(bands));
        for (const BackwardSumTile* tile : bands.sums()) {
            if (tile->workgroupSize() != 0) {
                builder.add(listedSteps(forward, decision, *tile));
            }
        }
    }
    builder.add(decision.scalar);
    builder.add(decision.coopmat);
    return builder.take();
}

void setTileLists(const std::vector<TileLists>& lists, const ListedTiles& tiles, Constants* constants) {
    if (const auto found = findLists(lists, tiles); found != lists.end()) {
        found->set(constants);
    }
}

} // namespace vkf
