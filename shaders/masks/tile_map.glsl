// SPDX-License-Identifier: MIT
//
// The map of tiles that map_tiles.comp makes of per-key masks: two bits for each tile of rows and tile of keys. `seen`:
// some row sees some key, so the tile is not empty. `kept`: the per-key masks keep all pairs that the visible ranges
// leave. With the map a tile of rows steps over its empty tiles and asks per-key masks only in partial tiles.
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

// Bits of 32 tiles of keys side by side.
layout(buffer_reference, std430, buffer_reference_align = 8) buffer MapWord {
    uint seen;
    uint kept;
};

uvec2 map_row;  // address of the tile's row of words
uint map_first; // tile with which the walk began
uint held_map;  // the word that was read last
uint held_open; // its tiles that the walk has not taken yet
uint held_kept;

uint mapRowTiles() {
    return (params.query_rows * PACKED_HEADS + TILE_ROWS - 1) / TILE_ROWS;
}

// Heads, or packed heads, with a map of their own; 1 if all share one.
uint mapHeads() {
    return TILE_MAP == VKF_MAP_BY_HEAD ? QUERY_HEADS / PACKED_HEADS : 1;
}

uint mapWords() {
    return (params.keys + MAP_WORD_KEYS - 1) / MAP_WORD_KEYS;
}

// Words of a row lie side by side, then rows of tiles, heads, sequences.
uvec2 mapWordAddress(const Item item, const uint word) {
    uint head = TILE_MAP == VKF_MAP_BY_HEAD ? item.head / PACKED_HEADS : 0;
    uint row = (item.batch * mapHeads() + head) * mapRowTiles() + item.row_begin / TILE_ROWS;
    return add64(VKF_TABLE_ADDRESS(tile_map), multiply64(row * mapWords() + word, 8));
}

// Address of the number of the tile that has this place in the order of order_tiles.comp.
uvec2 orderAddress(const Item item, const uint place) {
    uint head = TILE_MAP == VKF_MAP_BY_HEAD ? item.head / PACKED_HEADS : 0;
    uint first = (item.batch * mapHeads() + head) * mapRowTiles();
    return add64(VKF_TABLE_ADDRESS(tile_order), multiply64(first + place, 4));
}

// Turns to the words of the item's tile of rows.
void turnToRow(const Item item) {
    map_row = mapWordAddress(item, 0);
}

// Replaces the item's tile of rows by the tile that has its place in the order, and turns to the words of that tile.
void takeMappedTile(inout Item item) {
    if (HAS_TILE_MAP) {
        uint place = item.row_begin / TILE_ROWS;
        place = HAS_WINDOW ? mapRowTiles() - 1 - place : place; // as itemOf counts
        item.row_begin = Word(orderAddress(item, place)).value * TILE_ROWS;
        turnToRow(item);
    }
}

MapWord mapWord(const uint word) {
    return MapWord(add64(map_row, uvec2(word * 8, 0)));
}

// Bits of the tiles of a word from `tile` on.
uint mapBitsFrom(const uint tile, const uint word) {
    return tile <= word * 32 ? 0xffffffffu : BITS_FROM(tile - word * 32, tile % 32);
}

// Begins a walk over tiles from `first` on.
void beginMapWalk(const uint first) {
    map_first = first;
    held_map = first / 32 - 1;
    held_open = 0;
}

// Reads a word and keeps it, because neighbouring tiles mostly lie in the same word: its non-empty tiles before `end`.
// If `full`, only those of [full_first, full_end) that are kept; else all others.
void holdMap(const uint word, const uint end, const uint full_first, const uint full_end, const bool full) {
    MapWord at = mapWord(word);
    held_map = word;
    held_kept = at.kept;
    uint all = held_kept & mapBitsFrom(full_first, word) & ~mapBitsFrom(full_end, word);
    held_open = at.seen & (full ? all : ~all) & mapBitsFrom(map_first, word) & ~mapBitsFrom(end, word);
}

// The next tile of the walk; `end` if there is none. The same in every invocation of the workgroup.
uint nextMappedTile(const uint end, const uint full_first, const uint full_end, const bool full) {
    KEEP_LOOP while (UNIFORM_BY_VOTE(held_open == 0 && (held_map + 1) * 32 < end)) {
        holdMap(held_map + 1, end, full_first, full_end, full);
    }
    uint tile = held_open == 0 ? end : held_map * 32 + uint(findLSB(held_open));
    held_open &= held_open - 1;
    return tile;
}

// Whether per-key masks keep all pairs of a tile that the ranges leave. It must be the tile that nextMappedTile found
// last.
bool isKept(const uint tile) {
    return (held_kept >> tile % 32 & 1u) != 0;
}

#endif
