// SPDX-License-Identifier: MIT
//
// The map of tiles. map_tiles.comp makes it from the per-key masks and the block mask. It has two bits for each tile of
// rows and tile of keys:
//     seen   some row sees some key, so the tile is not empty
//     kept   the masks keep all pairs inside the visible ranges
// With the map, a kernel skips empty tiles, and tests per-key masks only in tiles that are not kept.
//
// Needs: common/params.glsl, common/item.glsl, masks/mask.glsl (HAS_WINDOW), TILE_ROWS, TILE_KEYS.
// Provides: HAS_TILE_MAP, MapWord, mapWordAddress, orderAddress, takeMappedTile, beginMapWalk, nextMappedTile, isKept,
// TILE_MAP, MAP_WORD_KEYS, mapRowTiles, mapHeads, mapWords, mapWord, turnToRow.
#ifndef VKF_TILE_MAP_GLSL
#define VKF_TILE_MAP_GLSL

#include "common/call_table.glsl"
#include "masks/range_bits.glsl"

layout(constant_id = VKF_ID_TILE_MAP) const uint TILE_MAP = VKF_MAP_NONE;

const bool HAS_TILE_MAP = TILE_MAP != VKF_MAP_NONE;
const uint MAP_WORD_KEYS = 32 * TILE_KEYS;

// Bits of 32 neighbouring tiles of keys.
layout(buffer_reference, std430, buffer_reference_align = 8) buffer MapWord {
    uint seen;
    uint kept;
};

uvec2 map_row;  // address of the words of the item's tile of rows
uint map_first; // first tile of the walk
uint held_map;  // number of the word that was read last
uint held_open; // tiles of that word that the walk has not visited yet
uint held_kept; // `kept` of that word

uint mapRowTiles() {
    return (params.query_rows * PACKED_HEADS + TILE_ROWS - 1) / TILE_ROWS;
}

// Number of maps of a sequence: one for each head or group of packed heads, or 1 if all heads share a map.
uint mapHeads() {
    return TILE_MAP == VKF_MAP_BY_HEAD ? QUERY_HEADS / PACKED_HEADS : 1;
}

uint mapWords() {
    return (params.keys + MAP_WORD_KEYS - 1) / MAP_WORD_KEYS;
}

// The words of a tile of rows are neighbours in memory. The array is [sequences, heads, row tiles, words].
uvec2 mapWordAddress(const Item item, const uint word) {
    uint head = TILE_MAP == VKF_MAP_BY_HEAD ? item.head / PACKED_HEADS : 0;
    uint row = (item.batch * mapHeads() + head) * mapRowTiles() + item.row_begin / TILE_ROWS;
    return add64(VKF_TABLE_ADDRESS(tile_map), multiply64(row * mapWords() + word, 8));
}

// Address of the number of the row tile at this place of the order (order_tiles.comp).
uvec2 orderAddress(const Item item, const uint place) {
    uint head = TILE_MAP == VKF_MAP_BY_HEAD ? item.head / PACKED_HEADS : 0;
    uint first = (item.batch * mapHeads() + head) * mapRowTiles();
    return add64(VKF_TABLE_ADDRESS(tile_order), multiply64(first + place, 4));
}

// Sets map_row to the words of the item's tile of rows.
void turnToRow(const Item item) {
    map_row = mapWordAddress(item, 0);
}

// Replaces the item's tile of rows by the tile at its place in the order, and sets map_row for that tile.
void takeMappedTile(inout Item item) {
    if (HAS_TILE_MAP) {
        uint place = item.row_begin / TILE_ROWS;
        place = HAS_WINDOW ? mapRowTiles() - 1 - place : place; // undoes the order of itemOf
        item.row_begin = Word(orderAddress(item, place)).value * TILE_ROWS;
        turnToRow(item);
    }
}

MapWord mapWord(const uint word) {
    return MapWord(add64(map_row, uvec2(word * 8, 0)));
}

// Bits of a word for the tiles from `tile` on.
uint mapBitsFrom(const uint tile, const uint word) {
    return tile <= word * 32 ? 0xffffffffu : BITS_FROM(tile - word * 32, tile % 32);
}

// Begins a walk over tiles from `first` on.
void beginMapWalk(const uint first) {
    map_first = first;
    held_map = first / 32 - 1;
    held_open = 0;
}

// Reads a word and keeps its non-empty tiles before `end`, because neighbouring tiles mostly lie in the same word. With
// `full`, it takes only the kept tiles in [full_first, full_end). Without `full`, it takes all others.
void holdMap(const uint word, const uint end, const uint full_first, const uint full_end, const bool full) {
    MapWord at = mapWord(word);
    held_map = word;
    held_kept = at.kept;
    uint all = held_kept & mapBitsFrom(full_first, word) & ~mapBitsFrom(full_end, word);
    held_open = at.seen & (full ? all : ~all) & mapBitsFrom(map_first, word) & ~mapBitsFrom(end, word);
}

// The next tile of the walk; `end` if there is none. All invocations of the workgroup get the same result.
uint nextMappedTile(const uint end, const uint full_first, const uint full_end, const bool full) {
    KEEP_LOOP while (UNIFORM_BY_VOTE(held_open == 0 && (held_map + 1) * 32 < end)) {
        holdMap(held_map + 1, end, full_first, full_end, full);
    }
    uint tile = held_open == 0 ? end : held_map * 32 + uint(findLSB(held_open));
    held_open &= held_open - 1;
    return tile;
}

// Whether the masks of the map keep all pairs of the tile inside the visible ranges. It must be the tile that
// nextMappedTile found last.
bool isKept(const uint tile) {
    return (held_kept >> tile % 32 & 1u) != 0;
}

#endif
