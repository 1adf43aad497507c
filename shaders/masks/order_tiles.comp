// SPDX-License-Identifier: MIT
//
// Sorts the tiles of rows of a map (tile_map.glsl). Tiles with more work come first, so that no long tile starts last.
// A workgroup sorts the tiles of one head, or of all heads if they share a map. The place of a tile is the number of
// tiles that come before it.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "common/compilers.glsl"
#include "common/params.glsl"

layout(constant_id = VKF_ID_MAP_TILE_ROWS) const uint TILE_ROWS = 64; // of the attention kernel
layout(constant_id = VKF_ID_MAP_TILE_KEYS) const uint TILE_KEYS = 64;

#include "common/address.glsl"
#include "common/item.glsl"
#include "masks/tile_map.glsl"

shared uint lengths[WORKGROUP_SIZE];

// Work of a tile of rows. Unit: half a tile of keys. Where per-key masks test pairs, a tile takes about 1.5 times as
// long, which is three halves.
uint lengthOf(Item item, const uint tile) {
    item.row_begin = tile * TILE_ROWS;
    turnToRow(item);
    uint halves = 0;
    KEEP_LOOP for (uint word = 0; word < mapWords(); word++) {
        MapWord tiles = mapWord(word);
        uint seen = tiles.seen;
        halves += 2 * bitCount(seen) + bitCount(seen & ~tiles.kept);
    }
    return halves;
}

void main() {
    uint thread = gl_LocalInvocationIndex;
    uint number = params.first_item + gl_WorkGroupID.x;
    Item item;
    item.head = number % mapHeads() * PACKED_HEADS;
    item.batch = number / mapHeads();
    uint tiles = mapRowTiles();
    KEEP_LOOP for (uint first = 0; first < tiles; first += WORKGROUP_SIZE) {
        uint tile = first + thread;
        uint own = tile < tiles ? lengthOf(item, tile) : 0;
        uint place = 0;
        KEEP_LOOP for (uint other_first = 0; other_first < tiles; other_first += WORKGROUP_SIZE) {
            barrier();
            lengths[thread] = other_first + thread < tiles ? lengthOf(item, other_first + thread) : 0;
            barrier();
            uint others = min(WORKGROUP_SIZE, tiles - other_first);
            KEEP_LOOP for (uint i = 0; i < others; i++) {
                bool before = lengths[i] > own || (lengths[i] == own && other_first + i < tile);
                place += before ? 1 : 0;
            }
        }
        if (tile < tiles) {
            Word(orderAddress(item, place)).value = tile;
        }
    }
}
