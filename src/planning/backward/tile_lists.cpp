// SPDX-License-Identifier: MIT
#include "planning/backward/tile_lists.hpp"

#include <algorithm>
#include <utility>

#include "planning/backward/backward_decision.hpp"
#include "planning/tile_map_sizes.hpp"
#include "shared/tile_lists.h"
#include "tiles/kernel_tile.hpp"
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

class ListBuilder {
public:
    ListBuilder(const CheckedProblem& forward, const TileMapChoice& map)
        : forward_(forward), maps_(tileMapSizes(forward, map, 1).maps),
          end_(tileMapSizes(forward, map, 1).words * mapWordBytes) {}

    template <KernelTile Tile> void add(const Tile& tile, uint32_t tiles = 0, uint32_t read = 0) {
        const BackwardOwner owner = tile.owner;
        if (tile.workgroupSize() == 0) {
            return;
        }
        const uint32_t all = visitedTiles(forward_, owner, tile.rows(), tile.keys());
        TileLists made{owner, tile.rows(), tile.keys(), tiles != 0 ? tiles : all, read};
        const bool known = std::any_of(lists_.begin(), lists_.end(), [&](const TileLists& other) {
            return other.owner == owner && other.rows == made.rows && other.keys == made.keys &&
                   other.tiles == made.tiles;
        });
        if (known) {
            return;
        }
        const VkfProblem& p = forward_.fields;
        const uint64_t owned =
            owner == BackwardOwner::keys ? tilesOf(p.keys, made.keys) : tilesOf(p.queryRows, made.rows);
        made.lists = maps_ * tilesOf(all, made.tiles) * owned;
        made.begin = end_;
        end_ += made.bytes();
        lists_.push_back(made);
    }
    template <KernelTile Tile> void add(const PairTiles<Tile>& tiles) {
        if (tiles.rows) {
            add(*tiles.rows);
        }
        for (const Tile& tile : tiles.keys) {
            add(tile);
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

uint64_t TileLists::bytes() const { return lists * VKF_LIST_WORDS(uint64_t{tiles}) * listWordBytes; }

uint32_t visitedTiles(const CheckedProblem& forward, BackwardOwner owner, uint32_t rows, uint32_t keys) {
    const VkfProblem& p = forward.fields;
    return static_cast<uint32_t>(owner == BackwardOwner::keys ? tilesOf(p.queryRows, rows) : tilesOf(p.keys, keys));
}

std::vector<TileLists> chooseTileLists(const CheckedProblem& forward, const BackwardDecision& decision) {
    ListBuilder builder(forward, *decision.map);
    if (decision.bands) {
        const BandChoice& bands = *decision.bands;
        builder.add(bands.store, 0, readRows(bands)); // before others with this tile, which read no empty tiles
        builder.add(bands.dq, bands.dq.workgroupSize() != 0 ? decision.bandKeys() / bands.dq.keys() : 0);
        builder.add(bands.dk);
        builder.add(bands.dv);
    }
    builder.add(decision.scalar);
    builder.add(decision.coopmat);
    return builder.take();
}

void setTileLists(const std::vector<TileLists>& lists, BackwardOwner owner, uint32_t rows, uint32_t keys,
                  uint32_t tiles, Constants* constants) {
    const auto found = std::find_if(lists.begin(), lists.end(), [&](const TileLists& l) {
        return l.owner == owner && l.rows == rows && l.keys == keys && l.tiles == tiles;
    });
    if (found != lists.end()) {
        (*constants)[VKF_ID_TILE_LISTS] = static_cast<uint32_t>(found->begin / listWordBytes);
        (*constants)[VKF_ID_LISTED_TILES] = found->tiles;
    }
}

} // namespace vkf
