// SPDX-License-Identifier: MIT
//
// The map of tiles of a backward pass with masks of the caller's own. masks/map_tiles.comp makes it, and
// masks/tile_map.glsl says what its bits mean. Each kernel has a tile of its own, and the map has cells that divide the
// tiles of all kernels. So a tile is empty if all of its cells are, and full if all of them are.
//
// Walks over tiles skip the empty ones. They keep the bits of 32 visited tiles, because a look at a tile waits for
// memory. A kernel that owns keys visits rows, whose bits lie far apart. Therefore some tiles have their loads in
// flight together.
//
// The include guard keeps this file out of kernels without functions (functions/hooks.glsl).
#ifndef VKF_MAPPED_TILES_GLSL
#define VKF_MAPPED_TILES_GLSL

layout(constant_id = VKF_ID_TILE_MAP) const uint TILE_MAP = VKF_MAP_NONE;
layout(constant_id = VKF_ID_CELL_ROWS) const uint CELL_ROWS = 1;
layout(constant_id = VKF_ID_CELL_KEYS) const uint CELL_KEYS = 1;
layout(constant_id = VKF_ID_READ_ROWS) const uint READ_ROWS = 0;

const bool HAS_TILE_MAP = TILE_MAP != VKF_MAP_NONE;
const uint ROW_CELLS = HAS_TILE_MAP ? TILE_ROWS / CELL_ROWS : 1; // of a tile
const uint KEY_CELLS = HAS_TILE_MAP ? TILE_KEYS / CELL_KEYS : 1;
const uint CELLS_AT_ONCE = 32 % KEY_CELLS == 0 ? KEY_CELLS : 1; // cells of a tile that surely lie in one word
const uint FIRST_CELLS = 0xffffffffu >> (32 - CELLS_AT_ONCE);   // their bits
const uint TILES_AT_ONCE = 4;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer CellWord {
    uint seen;
    uint unmasked;
};

uint cached_tiles = 0xffffffffu; // number of the 32 visited tiles whose bits are cached
uint cached_head;                // their head
uint cached_seen;                // their bits: not empty
uint cached_full;                // no mask of the map hides a pair inside the visible ranges

// The bits of a tile of the item's sequence: whether it is not empty, and whether it is full inside the visible ranges.
// Cells past the last row or key are the last ones again.
bvec2 tileBits(const uint head, const uint row_begin, const uint key_begin) {
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

// Reads the bits of the 32 visited tiles around one. `owned`: the first owned row or key.
void cacheTiles(const uint head, const uint owned, const uint tile) {
    if (cached_tiles == tile / 32 && cached_head == head) {
        return;
    }
    cached_tiles = tile / 32;
    cached_head = head;
    cached_seen = 0;
    cached_full = 0;
    KEEP_LOOP for (uint first = 0; first < 32; first += TILES_AT_ONCE) {
        UNROLL for (uint i = 0; i < TILES_AT_ONCE; i++) {
            uint visited = cached_tiles * 32 + first + i;
            bvec2 bits =
                OWNS_KEYS ? tileBits(head, visited * TILE_ROWS, owned) : tileBits(head, owned, visited * TILE_KEYS);
            cached_seen |= bits.x ? 1u << (first + i) : 0;
            cached_full |= bits.y ? 1u << (first + i) : 0;
        }
    }
}

bool isSeenTile(const uint head, const uint owned, const uint tile) {
    cacheTiles(head, owned, tile);
    return (cached_seen >> tile % 32 & 1u) != 0;
}

bool isFullTile(const uint head, const uint owned, const uint tile) {
    cacheTiles(head, owned, tile);
    return (cached_full >> tile % 32 & 1u) != 0;
}

// Whether a kernel that sums over stored tiles may read this one. That kernel skips the empty ones among its own tiles,
// which have up to READ_ROWS rows, and no more keys than a stored tile.
bool isReadTile(const uint head, const uint owned, const uint tile) {
    if (READ_ROWS == 0) {
        return true;
    }
    cacheTiles(head, owned, tile);
    const uint together = max(READ_ROWS / TILE_ROWS, 1);
    return (cached_seen >> tile % 32 / together * together & 0xffffffffu >> (32 - together)) != 0;
}

// The first tile in [tile, end) that is not empty; `end` if there is none.
uint nextSeenTile(const uint head, const uint owned, const uint tile, const uint end) {
    uint next = tile;
    bool found = false;
    KEEP_LOOP while (!found && next < end) {
        cacheTiles(head, owned, next);
        uint left = cached_seen & 0xffffffffu << next % 32;
        found = left != 0;
        next = found ? next / 32 * 32 + uint(findLSB(left)) : next / 32 * 32 + 32;
    }
    return min(next, max(tile, end));
}

// The first step from `from` on whose tile is not empty; `count` if there is none. Each visited head has `steps` steps,
// one for each visited tile from `first` on.
uint nextSeenStep(const uint from, const uint count, const uint steps, const uint owned, const uint first) {
    uint step = from;
    bool found = false;
    KEEP_LOOP while (!found && step < count) {
        uint head = step / steps;
        uint tile = first + step - head * steps;
        uint seen = nextSeenTile(item.head + head, owned, tile, first + steps);
        found = seen < first + steps;
        step += seen - tile;
    }
    return step;
}

#endif
