// SPDX-License-Identifier: MIT
//
// Sorts the tiles of rows of a map (tile_map.glsl). Tiles with more work come first, so that no long tile starts last.
// A workgroup sorts the tiles of one head, or of all heads if they share a map. The rank of a tile is the number of
// tiles that come before it. If the map looks at the bias, the kernel also chooses the class of each tile.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "common/compilers.glsl"
#include "common/params.glsl"

layout(constant_id = VKF_ID_MAP_TILE_ROWS) const uint TILE_ROWS = 64; // of the attention kernel
layout(constant_id = VKF_ID_MAP_TILE_KEYS) const uint TILE_KEYS = 64;

#include "common/address.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/tile_map.glsl"

shared uint lengths[WORKGROUP_SIZE];

// The tiles of keys that a tile of rows sees.
struct Seen {
    uint fast;    // number of full tiles without a bias
    uint slow;    // number of all others
    uint most;    // number of tiles in the visible range of the rows
    bool is_mask; // whether their bias is a mask
};

Seen seenOf(Item item, const uint tile) {
    item.row_begin = tile * TILE_ROWS;
    selectRow(item);
    ivec2 range = tileMask(item).any;
    uint end = (uint(max(range.y, range.x)) + TILE_KEYS - 1) / TILE_KEYS;
    Seen count = Seen(0, 0, end - uint(range.x) / TILE_KEYS, true);
    KEEP_LOOP for (uint word = 0; word < mapWords(); word++) {
        MapWord tiles = mapWord(word);
        uint seen = tiles.seen;
        uint fast = seen & tiles.unmasked & tiles.bias_free;
        count.fast += bitCount(fast);
        count.slow += bitCount(seen & ~fast);
        count.is_mask = count.is_mask && (seen & tiles.added) == 0;
    }
    return count;
}

// Work of a tile of rows, in halves of a tile of keys. Where per-key masks test pairs or a bias is added, a tile takes
// about 1.5 times as long.
uint lengthOf(const Seen seen) {
    return 2 * seen.fast + 3 * seen.slow;
}

// The class of a tile of rows. In units of a full tile without a bias, path coopmat takes about 1.9 for another tile of
// VKF_ROWS_BIAS_MASK, and 1.4 for each tile of VKF_ROWS_BIASED. The walk over the map is a twentieth of that.
uint classOf(const Seen seen) {
    if (ROW_CLASS == VKF_ROWS_ALL) {
        return VKF_ROWS_ALL;
    }
    if (seen.is_mask && 2 * seen.fast > 3 * seen.slow) {
        return VKF_ROWS_BIAS_MASK;
    }
    uint empty = seen.most - min(seen.fast + seen.slow, seen.most);
    return ROW_CLASS == VKF_ROWS_DENSE && 16 * empty <= seen.most ? VKF_ROWS_DENSE : VKF_ROWS_BIASED;
}

void main() {
    uint thread = gl_LocalInvocationIndex;
    uint number = params.first_item + gl_WorkGroupID.x;
    Item item;
    item.head = number % mapHeads() * PACKED_HEADS;
    item.batch = number / mapHeads();
    item.keys = keysOf(item.batch);
    item.offset = offsetOf(item);
    uint tiles = mapRowTiles();
    KEEP_LOOP for (uint first = 0; first < tiles; first += WORKGROUP_SIZE) {
        uint tile = first + thread;
        Seen seen = Seen(0, 0, 0, true);
        if (tile < tiles) {
            seen = seenOf(item, tile);
        }
        uint own = lengthOf(seen);
        uint index = 0;
        KEEP_LOOP for (uint other_first = 0; other_first < tiles; other_first += WORKGROUP_SIZE) {
            barrier();
            lengths[thread] = other_first + thread < tiles ? lengthOf(seenOf(item, other_first + thread)) : 0;
            barrier();
            uint others = min(WORKGROUP_SIZE, tiles - other_first);
            KEEP_LOOP for (uint i = 0; i < others; i++) {
                bool before = lengths[i] > own || (lengths[i] == own && other_first + i < tile);
                index += before ? 1 : 0;
            }
        }
        if (tile < tiles) {
            Word(orderAddress(item, index)).value = tile | classOf(seen) << CLASS_SHIFT;
        }
    }
}
