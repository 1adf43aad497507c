// SPDX-License-Identifier: MIT
//
// The map of tiles. map_tiles.comp makes it from the per-key masks, the block mask and the bias. It has four bits for
// each tile of rows and tile of keys:
//     seen        some row sees some key with a bias above -infinity, so the tile is not empty
//     unmasked    no per-key mask hides a pair inside the visible ranges
//     bias_free   the bias of all pairs inside the visible ranges is 0
//     added       the bias of some pair inside the visible ranges is neither 0 nor -infinity
// With the map, a kernel skips empty tiles, and tests per-key masks only in tiles that are not unmasked.
//
// A bias of 0 and -infinity is a mask. A loop that adds a bias is slow and takes registers. Walking the map also
// takes time. Therefore order_tiles.comp divides the tiles of rows into classes, and each class has an attention phase
// with code of its own (VKF_ROWS_*). A workgroup whose tile is of another class exits at once.
//
// A tile of rows of the map may be several tiles of the kernel. Its rows are TILE_ROWS * MAP_ROW_TILES then.
#ifndef VKF_TILE_MAP_GLSL
#define VKF_TILE_MAP_GLSL

#include "common/item.glsl"
#include "masks/bias_type.glsl"
#include "masks/mask.glsl"

layout(constant_id = VKF_ID_TILE_MAP) const uint TILE_MAP = VKF_MAP_NONE;

const bool HAS_TILE_MAP = TILE_MAP != VKF_MAP_NONE;
const bool WALKS_MAP = HAS_TILE_MAP && ROW_CLASS != VKF_ROWS_DENSE;
const uint MAP_WORD_KEYS = 32 * TILE_KEYS;
const uint MAP_ROWS = MAP_ROW_TILES * TILE_ROWS; // packed rows of a tile of the map

// A uint32 word of the sorted tiles of rows (order_tiles.comp) has the class of the tile of rows in its upper bits.
const uint CLASS_SHIFT = 30;

// Bits of 32 neighbouring tiles of keys.
layout(buffer_reference, std430, buffer_reference_align = 16) buffer MapWord {
    uint seen;
    uint unmasked;
    uint bias_free;
    uint added;
};

uvec2 map_row;         // address of the words of the item's tile of rows
uint map_first;        // first tile of the walk
uint cached_map;       // number of the word that was read last
uint cached_left;      // tiles of that word that the walk has not visited yet
uint cached_unmasked;  // `unmasked` of that word
uint cached_bias_free; // `bias_free` of that word; all bits unless the kernel has BIAS_IS_MASK

uint mapRowTiles() {
    return VKF_TILES(VKF_PACKED_ROWS(params.query_rows, PACKED_HEADS), MAP_ROWS);
}

// Number of maps of a sequence: one for each head or group of packed heads, or 1 if all heads share a map. With
// VKF_MAP_OF_ALL it is the number for all sequences.
uint mapHeads() {
    return TILE_MAP == VKF_MAP_BY_HEAD ? QUERY_HEADS / PACKED_HEADS : 1;
}

uint mapWords() {
    return VKF_TILES(params.keys, MAP_WORD_KEYS);
}

// The words of a tile of rows are neighbours in memory. The array is [sequences, heads, row tiles, words].
uvec2 mapWordAddress(const Item item, const uint word) {
    uint head = TILE_MAP == VKF_MAP_BY_HEAD ? item.head / PACKED_HEADS : 0;
    uint row = VKF_MAP_ROW(MAP_SEQUENCE(item), mapHeads(), head, mapRowTiles(), item.row_begin / MAP_ROWS);
    return add64(VKF_TABLE_ADDRESS(tile_map), multiply64(VKF_MAP_WORD(row, mapWords(), word), 16));
}

// Address of the uint32 word of the sorted tiles of rows at this index: the number of a row tile, and its class.
uvec2 orderAddress(const Item item, const uint index) {
    uint head = TILE_MAP == VKF_MAP_BY_HEAD ? item.head / PACKED_HEADS : 0;
    uint first = VKF_MAP_FIRST_ROW(MAP_SEQUENCE(item), mapHeads(), head, mapRowTiles());
    return add64(VKF_TABLE_ADDRESS(tile_order), multiply64(first + index, 4));
}

// Sets map_row to the words of the item's tile of rows.
void selectRow(const Item item) {
    map_row = mapWordAddress(item, 0);
}

// Replaces the item's tile of rows by the tile at its index in the order, and sets map_row for that tile. Returns
// whether the tile belongs to the kernel's class and has rows.
bool takeMappedTile(inout Item item) {
    bool taken = true;
    if (HAS_TILE_MAP) {
        uint index = item.row_begin / TILE_ROWS;
        index = HAS_WINDOW ? mapRowTiles() * MAP_ROW_TILES - 1 - index : index; // undoes the order of itemOf
        uint tile = Word(orderAddress(item, index / MAP_ROW_TILES)).value;
        if (ROW_CLASS != VKF_ROWS_ALL) {
            taken = UNIFORM_BY_VOTE(tile >> CLASS_SHIFT == ROW_CLASS);
            tile &= (1u << CLASS_SHIFT) - 1;
        }
        item.row_begin = tile * MAP_ROWS + index % MAP_ROW_TILES * TILE_ROWS;
        taken = taken && (MAP_ROW_TILES == 1 || item.row_begin < packedRows(item));
        selectRow(item);
    }
    return taken;
}

MapWord mapWord(const uint word) {
    return MapWord(add64(map_row, uvec2(word * 16, 0)));
}

// Bits of a word for the tiles from `tile` on.
uint mapBitsFrom(const uint tile, const uint word) {
    return tile <= word * 32 ? 0xffffffffu : BITS_FROM(tile - word * 32, tile % 32);
}

// Begins a walk over tiles from `first` on.
void beginMapWalk(const uint first) {
    map_first = first;
    cached_map = first / 32 - 1;
    cached_left = 0;
}

// Reads a word and keeps its non-empty tiles before `end`, because neighbouring tiles mostly lie in the same word. With
// `full`, it takes only the unmasked tiles in [full_first, full_end); of BIAS_IS_MASK only those that are bias-free
// too. Without `full`, it takes all others.
void cacheMapWord(const uint word, const uint end, const uint full_first, const uint full_end, const bool full) {
    MapWord at = mapWord(word);
    cached_map = word;
    cached_unmasked = at.unmasked;
    cached_bias_free = BIAS_IS_MASK ? at.bias_free : 0xffffffffu;
    uint all = cached_unmasked & cached_bias_free & mapBitsFrom(full_first, word) & ~mapBitsFrom(full_end, word);
    cached_left = at.seen & (full ? all : ~all) & mapBitsFrom(map_first, word) & ~mapBitsFrom(end, word);
}

// The next tile of the walk; `end` if there is none. All invocations of the workgroup get the same result.
uint nextMappedTile(const uint end, const uint full_first, const uint full_end, const bool full) {
    KEEP_LOOP while (UNIFORM_BY_VOTE(cached_left == 0 && (cached_map + 1) * 32 < end)) {
        cacheMapWord(cached_map + 1, end, full_first, full_end, full);
    }
    uint tile = cached_left == 0 ? end : cached_map * 32 + uint(findLSB(cached_left));
    cached_left &= cached_left - 1;
    return tile;
}

// Whether the masks of the map hide no pair of the tile inside the visible ranges. It must be the tile that
// nextMappedTile found last.
bool isUnmaskedTile(const uint tile) {
    return ((cached_unmasked >> (tile % 32)) & 1u) != 0;
}

// Whether the tile may go without the bias. It must be the tile that nextMappedTile found last. Only for BIAS_IS_MASK.
bool isBiasFree(const uint tile) {
    return ((cached_bias_free >> (tile % 32)) & 1u) != 0;
}

#endif
