// SPDX-License-Identifier: MIT
//
// The map of tiles of a backward pass with per-key masks, and the lists of tiles that backward/list_tiles.comp makes
// from it, in memory. masks/map_tiles.comp makes the map, and masks/tile_map.glsl says what its bits mean. Each kernel
// has a tile of its own, and the map has cells that divide the tiles of all kernels. So a tile is empty if all of its
// cells are, and full if all of them are.
#ifndef VKF_MAP_AND_LISTS_GLSL
#define VKF_MAP_AND_LISTS_GLSL

layout(constant_id = VKF_ID_TILE_MAP) const uint TILE_MAP = VKF_MAP_NONE;
layout(constant_id = VKF_ID_CELL_ROWS) const uint CELL_ROWS = 1;
layout(constant_id = VKF_ID_CELL_KEYS) const uint CELL_KEYS = 1;

const bool HAS_TILE_MAP = TILE_MAP != VKF_MAP_NONE;
const uint ROW_CELLS = HAS_TILE_MAP ? TILE_ROWS / CELL_ROWS : 1; // of a tile
const uint KEY_CELLS = HAS_TILE_MAP ? TILE_KEYS / CELL_KEYS : 1;
const uint CELLS_AT_ONCE = 32 % KEY_CELLS == 0 ? KEY_CELLS : 1; // cells of a tile that surely lie in one word
const uint FIRST_CELLS = 0xffffffffu >> (32 - CELLS_AT_ONCE);   // their bits

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer CellWord {
    uint seen;
    uint unmasked;
};

// The bits of a tile of an item's sequence: whether it is not empty, and whether it is full inside the visible ranges.
// Cells past the last row or key are the last ones again.
bvec2 tileBits(const Item item, const uint head, const uint row_begin, const uint key_begin) {
    uint last_row = (params.query_rows - 1) / CELL_ROWS;
    uint last_key = (params.keys - 1) / CELL_KEYS;
    uint maps = TILE_MAP == VKF_MAP_BY_HEAD ? QUERY_HEADS : 1;
    uint map = TILE_MAP == VKF_MAP_BY_HEAD ? head : 0;
    uint words = last_key / 32 + 1;
    uint seen = 0;
    uint unmasked = FIRST_CELLS;
    UNROLL for (uint r = 0; r < ROW_CELLS; r++) {
        uint row = VKF_MAP_ROW(MAP_SEQUENCE(item), maps, map, last_row + 1, min(row_begin / CELL_ROWS + r, last_row));
        UNROLL for (uint c = 0; c < KEY_CELLS; c += CELLS_AT_ONCE) {
            uint key = min(key_begin / CELL_KEYS + c, last_key);
            CellWord at =
                CellWord(add64(VKF_TABLE_ADDRESS(tile_map), multiply64(VKF_MAP_WORD(row, words, key / 32), 16)));
            seen |= at.seen >> key % 32 & FIRST_CELLS;
            unmasked &= at.unmasked >> key % 32;
        }
    }
    return bvec2(seen != 0, unmasked == FIRST_CELLS);
}

layout(constant_id = VKF_ID_TILE_LISTS) const uint TILE_LISTS = 0; // of this kernel: bytes behind the map, in sixteens
layout(constant_id = VKF_ID_LISTED_TILES) const uint LISTED_TILES = 1; // most tiles of a list

layout(buffer_reference, std430, buffer_reference_align = 16) buffer TileList {
    uint full; // positions at which the full tiles, the partial ones and the list end
    uint seen;
    uint read;
    uint padding;
    uint tile[];
};

uvec2 listAddress(const uint number) {
    uvec2 lists = add64(VKF_TABLE_ADDRESS(tile_map), multiply64(TILE_LISTS, 16));
    return add64(lists, multiply64(number, VKF_LIST_WORDS(LISTED_TILES) * 16));
}

#endif
