// SPDX-License-Identifier: MIT
//
// Makes the lists of tiles of one kernel of the backward pass (backward/tile_lists.glsl) from the map of tiles
// (backward/map_and_lists.glsl). A workgroup makes the list of one owned tile, of one map and one band.
//
// First it makes words of bits, one for each tile that the owned one meets: full, partial, or empty but read by others.
// The position of a tile is the number of tiles before it, which is a sum of bits.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require

#include "common/compilers.glsl"
#include "shared/backward_params.h"
#define VKF_PUSH_CONSTANTS BackwardParams
#include "common/params.glsl"

layout(constant_id = VKF_ID_OWNER) const uint OWNER = VKF_OWNS_ROWS;
layout(constant_id = VKF_ID_MAP_TILE_ROWS) const uint TILE_ROWS = 64; // of the kernel
layout(constant_id = VKF_ID_MAP_TILE_KEYS) const uint TILE_KEYS = 64;
layout(constant_id = VKF_ID_READ_ROWS) const uint READ_ROWS = 0;

const bool OWNS_KEYS = OWNER == VKF_OWNS_KEYS;
const uint VISITED = OWNS_KEYS ? TILE_ROWS : TILE_KEYS;
#define VKF_END_OF_KEYS (key_begin + TILE_KEYS)

#include "common/address.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "backward/backward_table.glsl"
#include "backward/bands.glsl"
#include "backward/map_and_lists.glsl"

Item item;
uint key_begin; // of an owner of keys
TileMask mask;  // of an owner of rows

#include "backward/full_tiles.glsl"

const uint PARTS = 3; // full, partial, empty but read
const uint WORDS = (LISTED_TILES + 31) / 32;

shared uint seen_bits[WORDS];
shared uint bits[PARTS * WORDS];
shared uint before[PARTS * WORDS]; // number of tiles of the part in earlier words

#define OF_WORKGROUP gl_ScopeWorkgroup, 0, gl_SemanticsRelaxed

uint thread;
uint head;  // of the map
uint first; // first tile of the band
uint count; // tiles of the band

// Sets the owned tile, and returns the number of the list.
uint beginList() {
    uint number = params.first_item + gl_WorkGroupID.x;
    uint owned_tiles = OWNS_KEYS ? VKF_TILES(params.keys, TILE_KEYS) : VKF_TILES(params.query_rows, TILE_ROWS);
    uint tiles = OWNS_KEYS ? VKF_TILES(params.query_rows, TILE_ROWS) : VKF_TILES(params.keys, TILE_KEYS);
    uint bands = VKF_TILES(tiles, LISTED_TILES);
    uint maps = TILE_MAP == VKF_MAP_BY_HEAD ? QUERY_HEADS : 1;
    uint tile = number % owned_tiles;
    uint map = number / owned_tiles / bands;
    item = itemOfSequence(map / maps);
    head = map % maps;
    first = number / owned_tiles % bands * LISTED_TILES;
    count = min(LISTED_TILES, tiles - first);
    item.row_begin = OWNS_KEYS ? 0 : tile * TILE_ROWS;
    key_begin = OWNS_KEYS ? tile * TILE_KEYS : 0;
    mask = tileMask(item);
    return number;
}

// Sets the bits of full tiles, and of all tiles that are not empty.
void findSeenTiles() {
    uvec2 full_range = OWNS_KEYS ? fullRows() : fullKeys();
    for (uint i = thread; i < count; i += WORKGROUP_SIZE) {
        uint begin = (first + i) * VISITED;
        bvec2 tile = OWNS_KEYS ? tileBits(item, head, begin, key_begin) : tileBits(item, head, item.row_begin, begin);
        bool full = tile.x && tile.y && begin >= full_range.x && begin < full_range.y;
        atomicOr(seen_bits[i / 32], tile.x ? 1u << i % 32 : 0, OF_WORKGROUP);
        atomicOr(bits[i / 32], full ? 1u << i % 32 : 0, OF_WORKGROUP);
    }
}

// Bits of the tiles of a word that others may read: of all of them, or of those with a seen tile among READ_ROWS rows.
uint readBits(const uint word) {
    if (READ_ROWS == 0) {
        return 0;
    }
    uvec2 rows = rowsThatSee(item, key_begin, VKF_END_OF_KEYS);
    const uint together = min(max(READ_ROWS / TILE_ROWS, 1), 32);
    const uint group = 0xffffffffu >> (32 - together);
    uint read = 0;
    for (uint i = 0; i < 32; i++) {
        uint begin = (word * 32 + i) * TILE_ROWS;
        bool stored = begin + TILE_ROWS > rows.x && begin < rows.y;
        bool wanted = READ_ROWS == VKF_READS_ALL || (seen_bits[word] >> i / together * together & group) != 0;
        read |= stored && wanted ? 1u << i : 0;
    }
    return read;
}

void main() {
    thread = gl_LocalInvocationIndex;
    TileList list = TileList(listAddress(beginList()));
    for (uint word = thread; word < PARTS * WORDS; word += WORKGROUP_SIZE) {
        bits[word] = 0;
        if (word < WORDS) {
            seen_bits[word] = 0;
        }
    }
    barrier();
    findSeenTiles();
    barrier();
    for (uint word = thread; word < WORDS; word += WORKGROUP_SIZE) {
        bits[WORDS + word] = seen_bits[word] & ~bits[word];
        bits[2 * WORDS + word] = readBits(word) & ~seen_bits[word];
    }
    barrier();
    for (uint word = thread; word < PARTS * WORDS; word += WORKGROUP_SIZE) {
        uint tiles = 0;
        for (uint earlier = 0; earlier < word; earlier++) {
            tiles += bitCount(bits[earlier]);
        }
        before[word] = tiles;
    }
    barrier();
    for (uint i = thread; i < PARTS * WORDS * 32; i += WORKGROUP_SIZE) {
        uint word = bits[i / 32];
        if ((word >> i % 32 & 1u) != 0) {
            uint position = before[i / 32] + bitCount(word & ((1u << i % 32) - 1));
            list.tile[position] = first + i % (WORDS * 32);
        }
    }
    if (thread < PARTS) {
        uint last = thread * WORDS + WORDS - 1;
        uint end = before[last] + bitCount(bits[last]);
        if (thread == 0) {
            list.full = end;
        } else if (thread == 1) {
            list.seen = end;
        } else {
            list.read = end;
        }
    }
}
