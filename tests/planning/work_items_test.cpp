// SPDX-License-Identifier: MIT
//
// The arithmetic of work items that host and shader share, at and around its limits. Each macro is computed with
// numbers that know whether 32 bits hold them (planning/exact.hpp).
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <vector>

#include "planning/exact.hpp"
#include "shared/append_params.h"
#include "shared/attention_params.h"
#include "shared/work_items.h"
#include "support/dice.hpp"

namespace {

using vkf::test::Count;
using vkf::test::Dice;
using vkf::test::Position;

constexpr uint64_t maxCount = VKF_MAX_COUNT;
constexpr uint64_t maxRows = VKF_MAX_ROWS;
constexpr std::array<uint64_t, 10> tiles = {1, 4, 16, 48, 64, 128, 1000, 16384, 32767, VKF_MAX_TILE};

uint64_t below(Dice& dice, uint64_t limit) { return dice.below(static_cast<uint32_t>(limit)); }

// A number from 1 to `most`, often near `most`, near a power of two or small.
uint64_t drawn(Dice& dice, uint64_t most) {
    const uint64_t near = below(dice, 5);
    const uint64_t number = below(dice, 4) == 0   ? most - std::min(near, most)
                            : below(dice, 3) == 0 ? (uint64_t{1} << below(dice, 33)) + near
                            : below(dice, 2) == 0 ? 1 + near
                                                  : 1 + below(dice, 1 << 16) * (1 + below(dice, 1 << 16));
    return std::clamp<uint64_t>(number, 1, most);
}

// The sizes of a call, as large as the host lets them be together.
struct Sizes {
    uint64_t rows, packed, groups, batch, splits, tileRows, mapRowTiles;

    uint64_t heads() const { return packed * groups; }
    uint64_t rowTiles() const {
        const uint64_t together = tileRows * mapRowTiles;
        return (rows * packed / together + (rows * packed % together != 0 ? 1 : 0)) * mapRowTiles;
    }
    uint64_t allHeads() const { return groups * batch * splits; } // groups of packed heads, of all partial results
};

Sizes drawnSizes(Dice& dice) {
    Sizes s{};
    uint64_t most = maxCount;
    const auto take = [&](uint64_t limit) {
        const uint64_t number = drawn(dice, std::min(most, limit));
        most /= number;
        return number;
    };
    s.rows = take(maxRows);
    s.packed = take(VKF_MAX_HEADS);
    s.groups = take(VKF_MAX_HEADS / s.packed);
    s.batch = take(maxRows);
    s.splits = take(VKF_MAX_SPLITS);
    s.tileRows = tiles[below(dice, tiles.size())];
    s.mapRowTiles = s.tileRows <= 8192 ? uint64_t{1} << below(dice, 3) : 1;
    return s;
}

// Heads that take turns divide all heads (planning/decide/interleaved_heads.cpp).
uint64_t drawnGroup(Dice& dice, uint64_t heads) {
    uint64_t group = 1 + below(dice, 16);
    while (heads % group != 0) {
        group--;
    }
    return group;
}

// itemOf of common/item.glsl.
struct Item {
    Count tile, head, partial_result, row_begin, last_row;
};

Item itemOf(const Sizes& s, Count number, Count set_heads, bool backwards) {
    const Count tile_rows = s.tileRows;
    const Count together = tile_rows * s.mapRowTiles;
    const Count packed_rows = VKF_PACKED_ROWS(Count(s.rows), Count(s.packed));
    const Count row_tiles = VKF_TILES(packed_rows, together) * s.mapRowTiles;
    const Count headSet = VKF_ITEM_HEAD_SET(number, row_tiles, set_heads);
    const Count in_set = VKF_ITEM_IN_SET(number, headSet, row_tiles, set_heads);
    const Count tile = VKF_ITEM_TILE(in_set, set_heads);
    const Count head = VKF_ITEM_HEAD(headSet, in_set, set_heads);
    const Count partial_result = head / s.groups;
    const Count row_begin = VKF_ROW_BEGIN(backwards, row_tiles, tile, tile_rows);
    return {tile, head, partial_result, row_begin, VKF_LAST_ROW(row_begin, tile_rows, packed_rows)};
}

void checkItem(const Sizes& s, uint64_t number, uint64_t group, bool backwards) {
    const Item item = itemOf(s, number, group, backwards);
    INFO("rows " << s.rows << ", heads " << s.packed << " * " << s.groups << ", batch " << s.batch << ", splits "
                 << s.splits << ", tile " << s.tileRows << " * " << s.mapRowTiles << ", group " << group << ", item "
                 << number);
    const auto tile = static_cast<uint64_t>(item.tile.value());
    const auto head = static_cast<uint64_t>(item.head.value());
    REQUIRE(item.tile.fits());
    REQUIRE(item.head.fits());
    REQUIRE(tile < s.rowTiles());
    REQUIRE(head < s.allHeads());
    REQUIRE((head / group * s.rowTiles() + tile) * group + head % group == number);
    const uint64_t begin = (backwards ? s.rowTiles() - 1 - tile : tile) * s.tileRows;
    REQUIRE(item.row_begin.fits());
    REQUIRE(item.row_begin == Count(begin));
    if (begin < s.rows * s.packed) { // the last tiles of the map may have no rows
        REQUIRE(item.last_row.fits());
        REQUIRE(item.last_row == Count(std::min(begin + s.tileRows, s.rows * s.packed) - 1));
    }
    const Count row_past_the_last = item.row_begin + Count(s.tileRows);
    REQUIRE(row_past_the_last.fits());
    const Count first_head = (item.head - item.partial_result * s.groups) * s.packed;
    const Count number_of_head = VKF_HEAD_NUMBER(item.partial_result, Count(s.heads()), first_head);
    REQUIRE(number_of_head.fits());
    REQUIRE(number_of_head == Count(head * s.packed));
}

} // namespace

TEST_CASE("numbers of tiles are exact up to the largest count, and no further", "[planning]") {
    Dice dice(46);
    for (const uint64_t tile : tiles) {
        for (uint64_t i = 0; i < 2000; i++) {
            const uint64_t count = i < 1000 ? maxCount - i : i < 1010 ? i - 1000 : drawn(dice, maxCount);
            const Count covering = VKF_TILES(Count(count), Count(tile));
            INFO(count << " in tiles of " << tile);
            REQUIRE(covering.fits());
            REQUIRE(covering == Count(count / tile + (count % tile != 0 ? 1 : 0)));
        }
    }
    CHECK_FALSE(VKF_TILES(Count(UINT32_MAX), Count(16)).fits());
    // Four heads of 2^30 - 1 rows, which the host let through once, become no tile.
    const uint64_t rows = (uint64_t{1} << 30) - 1;
    CHECK_FALSE(VKF_TILES(VKF_PACKED_ROWS(Count(rows), Count(4)), Count(16)).fits());
    CHECK(VKF_TILES(VKF_PACKED_ROWS(static_cast<uint32_t>(rows), 4U), 16U) == 0);
}

TEST_CASE("work items find their tile, head and rows at the limits of all sizes", "[planning]") {
    Dice dice(7);
    const Sizes largest[] = {
        {maxRows, 4, 1, 1, 1, 16, 1},   {maxCount / 5, 5, 1, 1, 1, 128, 2}, {65536, 65535, 1, 1, 1, VKF_MAX_TILE, 1},
        {1, 1, 65535, 65536, 1, 64, 1}, {1, 1, 1, maxRows, 4, 16, 1},       {maxRows, 1, 2, 1, 2, VKF_MAX_TILE, 1}};
    for (uint64_t i = 0; i < 20000; i++) {
        const Sizes s = i < std::size(largest) ? largest[i] : drawnSizes(dice);
        const uint64_t items = s.rowTiles() * s.allHeads();
        if (items > maxCount) {
            continue; // the host refuses this many work items
        }
        const uint64_t group = drawnGroup(dice, s.allHeads());
        for (const uint64_t number : {uint64_t{0}, items - 1, items / 2, items - 1 - below(dice, 32) % items}) {
            checkItem(s, number, group, below(dice, 2) == 0);
        }
    }
}

TEST_CASE("one tile has all packed rows of a sequence", "[planning]") {
    for (const uint64_t packed : {uint64_t{1}, maxRows, maxRows + 1, 4 * maxRows, maxCount}) {
        const Count last = VKF_LAST_ROW(Count(0), Count(VKF_ALL_ROWS), Count(packed));
        CHECK(last.fits());
        CHECK(last == Count(packed - 1));
    }
}

TEST_CASE("rows of workgroups and of key splits are exact up to the largest count", "[planning]") {
    Dice dice(3);
    for (uint64_t i = 0; i < 20000; i++) {
        const uint64_t count = i < 100 ? maxCount - i : drawn(dice, maxCount);
        const uint64_t ofWorkgroup = tiles[below(dice, tiles.size())];
        const uint64_t workgroups = count / ofWorkgroup + (count % ofWorkgroup != 0 ? 1 : 0);
        const Count last = VKF_ROW_OF_ITEM(Count(workgroups - 1), Count(ofWorkgroup), Count(ofWorkgroup - 1));
        REQUIRE(last.fits());
        REQUIRE(last == Count(workgroups * ofWorkgroup - 1));

        const Sizes s = drawnSizes(dice);
        const uint64_t splitRows = s.heads() * s.rows;
        const Count row = VKF_ROW_OF_SPLITS(Count(s.batch - 1), Count(s.splits), Count(splitRows), Count(s.heads() - 1),
                                            Count(s.rows), Count(s.rows - 1));
        REQUIRE(row.fits());
        REQUIRE((row + Count(s.splits - 1) * splitRows).fits());
        REQUIRE(row + Count(s.splits - 1) * splitRows == Count(s.batch * s.splits * splitRows - 1));

        const uint64_t keyTiles = drawn(dice, maxRows);
        const uint64_t split = below(dice, s.splits);
        const Count begin = VKF_SHARE_BEGIN(Count(keyTiles), Count(s.splits), Count(split));
        const Count end = VKF_SHARE_BEGIN(Count(keyTiles), Count(s.splits), Count(split + 1));
        REQUIRE(end.fits());
        const auto share = static_cast<uint64_t>((end - begin).value());
        REQUIRE((share == keyTiles / s.splits || share == keyTiles / s.splits + 1));
        REQUIRE((split + 1 < s.splits || end == Count(keyTiles)));
    }
}

TEST_CASE("tile numbers of packed sequences suffice up to the largest count", "[planning]") {
    Dice dice(11);
    for (uint64_t i = 0; i < 20000; i++) {
        const uint64_t packed = drawn(dice, VKF_MAX_HEADS);
        const uint64_t rows = drawn(dice, std::min(maxRows, maxCount / packed));
        const uint64_t sequences = drawn(dice, maxRows);
        const uint64_t tile = tiles[below(dice, tiles.size())];
        const Count slots = VKF_FIRST_SEQUENCE_TILE(Count(rows), Count(packed), Count(tile), Count(sequences));
        if (rows * packed / tile + sequences > maxCount) {
            continue; // the host refuses this many work items
        }
        REQUIRE(slots.fits());
        // Two sequences: the first begins anywhere.
        const uint64_t first = below(dice, rows + 1);
        const uint64_t sequence = below(dice, sequences);
        const Count begin = VKF_FIRST_SEQUENCE_TILE(Count(first), Count(packed), Count(tile), Count(sequence));
        const Count end = VKF_FIRST_SEQUENCE_TILE(Count(rows), Count(packed), Count(tile), Count(sequence + 1));
        REQUIRE(end.fits());
        REQUIRE((end - begin).value() >= VKF_TILES(Count((rows - first) * packed), Count(tile)).value());
        // A kernel steps from slot to slot, and from sequence to sequence, by a workgroup or by all workgroups.
        REQUIRE((slots + 65535).fits());
        REQUIRE((Count(sequences) + 65535).fits());
        // The rows of an idle slot, which tiles may count backwards.
        const Count row_tiles = VKF_TILES(VKF_PACKED_ROWS(Count(rows - first), Count(packed)), Count(tile));
        REQUIRE((row_tiles * Count(tile)).fits());
    }
}

TEST_CASE("the map of tiles, path key_outer and bands count within 32 bits", "[planning]") {
    Dice dice(5);
    for (uint64_t i = 0; i < 20000; i++) {
        const Sizes s = drawnSizes(dice);
        const uint64_t words = drawn(dice, maxRows);
        const uint64_t mapRows = s.groups * s.batch * s.rowTiles();
        if (mapRows <= maxCount / words) { // else the host makes no map
            const Count row = VKF_MAP_ROW(Count(s.batch - 1), Count(s.groups), Count(s.groups - 1), Count(s.rowTiles()),
                                          Count(s.rowTiles() - 1));
            const Count word = VKF_MAP_WORD(row, Count(words), Count(words - 1));
            REQUIRE(word.fits());
            REQUIRE(word == Count(mapRows * words - 1));
        }
        const uint64_t rowTiles = s.rows / s.tileRows + (s.rows % s.tileRows != 0 ? 1 : 0);
        const Count items = VKF_ITEMS_OF_KEY_TILE(Count(s.rows), Count(s.tileRows), Count(s.heads()), Count(s.batch));
        REQUIRE(items.fits());
        REQUIRE(items == Count(rowTiles * s.heads() * s.batch));

        const uint64_t tileKeys = uint64_t{16} << below(dice, 5);
        const uint64_t keyTiles = maxRows / tileKeys;
        const uint64_t bandTiles = drawn(dice, keyTiles);
        const uint64_t bands = (keyTiles + bandTiles - 1) / bandTiles;
        const Count past = VKF_TILE_OF_BANDS(Count(bands - 1), Count(bandTiles), Count(bandTiles)) * Count(tileKeys);
        REQUIRE(past.fits());
    }
}

TEST_CASE("windows fit signed numbers for rows and keys past the last ones", "[planning]") {
    constexpr auto past = int64_t{VKF_MAX_TILE}; // rows and keys that a tile has too many
    constexpr auto most = int64_t{VKF_MAX_ROWS};
    for (const int64_t rows : {int64_t{1}, int64_t{2}, most / 2, most - 1, most}) {
        for (const int64_t keys : {int64_t{0}, int64_t{1}, most / 2, most - 1, most}) {
            for (const int64_t offset : {int64_t{0}, keys - rows}) {
                INFO(rows << " rows, " << keys << " keys, offset " << offset);
                for (const int64_t row : {int64_t{0}, rows - 1, rows - 1 + past}) {
                    const Position diagonal = Position(row) + Position(offset);
                    const Position begin = VKF_WINDOW_BEGIN(diagonal, Position(VKF_UNLIMITED_LEFT));
                    const Position end = VKF_WINDOW_END(diagonal, Position(VKF_UNLIMITED_RIGHT));
                    CHECK(begin.fits());
                    CHECK(end.fits());
                    if (row < rows) { // a reach without a limit includes all keys
                        CHECK(begin.value() <= 0);
                        CHECK(end.value() >= keys);
                    }
                }
                // Key lengths shorten a sequence, so that a key of the tensor may lie far behind its last key.
                for (const int64_t key : {int64_t{0}, std::max<int64_t>(keys - 1, 0), most - 1 + past}) {
                    const Position seen =
                        VKF_SEEING_BEGIN(Position(key), Position(offset), Position(VKF_UNLIMITED_RIGHT));
                    CHECK(seen.fits());
                    CHECK(VKF_SEEING_BEGIN(Position(key), Position(offset), Position(0)).fits());
                }
                for (const int64_t end : {int64_t{0}, keys}) {
                    const Position seen = VKF_SEEING_END(Position(end), Position(offset), Position(VKF_UNLIMITED_LEFT));
                    CHECK((seen + 1).fits());
                    CHECK(seen.value() >= (offset == 0 ? end : rows));
                }
            }
        }
    }
    // There is no room for 2^30 rows and keys.
    CHECK(VKF_WINDOW_END(Position(most - 1 + 2 * past), Position(VKF_UNLIMITED_RIGHT)).fits());
    CHECK_FALSE(VKF_WINDOW_END(Position(most + 2 * past), Position(VKF_UNLIMITED_RIGHT)).fits());
}

TEST_CASE("appends count rows, positions and bytes of positions within 32 bits", "[planning]") {
    constexpr uint64_t rows = 2; // the fewest of a workgroup
    for (const uint64_t count : {maxRows, maxRows - 1, maxRows / 2}) {
        const uint64_t workgroups = (count + rows - 1) / rows;
        const uint64_t layers = (workgroups - 1) / VKF_APPEND_GROUPS + 1;
        CHECK(layers <= 65535); // every device takes this many
        const Count last =
            VKF_ROW_OF_ITEM(Count(layers - 1) * VKF_APPEND_GROUPS + (VKF_APPEND_GROUPS - 1), Count(rows), Count(1));
        CHECK(last.fits());
        CHECK(last.value() >= static_cast<int64_t>(count - 1));
    }
    CHECK((Count(maxRows) + maxRows + maxRows).fits()); // length, row and new rows
    CHECK((Count(maxRows) * 4).fits());                 // bytes of a length, a page number, a document or a key
    CHECK_FALSE((Count(maxRows + 2 * VKF_MAX_TILE) * 4).fits());
}
