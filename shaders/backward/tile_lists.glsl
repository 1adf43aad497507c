// SPDX-License-Identifier: MIT
//
// Lists of the tiles that a kernel of the backward pass visits, if it has a map of tiles (backward/map_and_lists.glsl).
// backward/list_tiles.comp makes a list for each tile of owned rows or keys:
//
//     full tiles, partial tiles, empty tiles whose stored ds others may read
//
// So a step to the next tile is one load, which is in flight during the tile before. Loops over tiles must have nothing
// else: with a loop that looks at the map inside, NVIDIA's compiler moves all sums in each tile (lab/log-0.4.md).
//
// Kernels with lists define VKF_TILE_LISTS: the variants "_listed" and all kernels with functions. The others have
// backward/without_lists.glsl.
#ifndef VKF_TILE_LISTS_GLSL
#define VKF_TILE_LISTS_GLSL

#include "backward/map_and_lists.glsl"

TileList open_list; // the open one
uint full_end;      // where its full tiles end
uint seen_end;      // where its partial tiles end
uint read_end;      // where it ends
uint walk_at;       // position of the walk's tile
uint walk_next;     // position of the tile after it
uint walk_end;      // one past the last position of the walk
uint tile_ahead;    // the tile at walk_next

// Opens the list of an owned tile. `owned_tiles`: number of owned tiles of the sequence in a band, or in all.
void openList(const uint head, const uint band, const uint bands, const uint owned_tile, const uint owned_tiles) {
    uint maps = TILE_MAP == VKF_MAP_BY_HEAD ? QUERY_HEADS : 1;
    uint map = MAP_SEQUENCE(item) * maps + (TILE_MAP == VKF_MAP_BY_HEAD ? head : 0);
    open_list = TileList(listAddress(VKF_LIST_NUMBER(map, bands, band, owned_tiles, owned_tile)));
    full_end = open_list.full;
    seen_end = open_list.seen;
    read_end = open_list.read;
}

// Sets the walk before position `begin`. It ends before position `end`.
void walkList(const uint begin, const uint end) {
    walk_next = begin;
    walk_end = end;
    tile_ahead = open_list.tile[min(begin, LISTED_TILES - 1)];
}

// Moves the walk on, if there is a tile left. Returns the number of its tile, which has no meaning otherwise.
uint takeTile() {
    uint tile = tile_ahead;
    walk_at = walk_next;
    walk_next = min(walk_next + 1, walk_end);
    tile_ahead = open_list.tile[min(walk_next, LISTED_TILES - 1)];
    return tile;
}

#endif
