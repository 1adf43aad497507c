// SPDX-License-Identifier: MIT
//
// Which tiles of keys a workgroup of the cooperative-matrix kernel walks over, and in which order.
#ifndef VKF_TILE_WALK_GLSL
#define VKF_TILE_WALK_GLSL

const bool STEPS_OVER_EMPTY_TILES = HAS_BLOCK_MASK || HAS_TILE_MAP; // tiles that nobody sees
const bool PASSES_EMPTY_TILES = HAS_KEEP && !HAS_TILE_MAP;   // tiles between the first keys and the window
const bool FULL_TILES_FIRST = !HAS_ALIBI;

// Tiles of keys that some row of the workgroup sees: [first, end), of which all rows see all keys of
// [full_first, full_end). The walk goes over those first, then over the ones that a mask cuts, on either
// side of them; under ALiBi the other way round, with the tiles [near_first, near_end) that lie on both sides of a
// row's position among the cut ones: scores rise towards it, and m would rise with them. With a map or a block mask the
// walk steps over tiles that nobody sees; a map also tells which are whole. Where blocks are cut, or masks are asked
// key by key without a map, or a bias cannot be read in pieces, no tile is.
struct Walk {
    uint first, full_first, near_first, near_end, full_end, end;
};

// Keys at which the rows of the workgroup stand, [x, y).
ivec2 positions() {
    uint last_row = min(item.row_begin + TILE_ROWS, packedRows(item)) - 1;
    return ivec2(-distanceTo(item, 0, queryRow(item.row_begin)), 1 - distanceTo(item, 0, queryRow(last_row)));
}

Walk walkOf(const TileMask mask) {
    Walk walk;
    walk.first = uint(mask.any.x) / TILE_KEYS;
    walk.end = uint(max(mask.any.y, mask.any.x) + int(TILE_KEYS) - 1) / TILE_KEYS;
    walk.full_first = clamp(uint(max(mask.all.x, 0) + int(TILE_KEYS) - 1) / TILE_KEYS, walk.first, walk.end);
    walk.full_end = clamp(uint(max(mask.all.y, 0)) / TILE_KEYS, walk.full_first, walk.end);
    if (PASSES_EMPTY_TILES) { // in the place of whole tiles
        ivec2 unseen = unseenKeys(item);
        walk.full_first = clamp(uint(unseen.x + int(TILE_KEYS) - 1) / TILE_KEYS, walk.first, walk.end);
        walk.full_end = clamp(uint(unseen.y) / TILE_KEYS, walk.full_first, walk.end);
    } else if ((BLOCKS_CROSS_TILES && !HAS_TILE_MAP) || (HAS_BIAS && !bias_in_pieces)) {
        walk.full_end = walk.full_first;
    }
    walk.near_first = walk.full_end;
    walk.near_end = walk.full_end;
    if (HAS_ALIBI && !PASSES_EMPTY_TILES) {
        ivec2 near = positions();
        walk.near_first = clamp(uint(max(near.x + 1, 0)) / TILE_KEYS, walk.full_first, walk.full_end);
        walk.near_end = clamp(uint(max(near.y + int(TILE_KEYS) - 2, 0)) / TILE_KEYS, walk.near_first, walk.full_end);
        if (STEPS_OVER_EMPTY_TILES) {
            walk.full_end = walk.near_first;
            walk.near_end = walk.near_first;
        }
    }
    return walk;
}

// The first open tile from `tile` on, of the whole or of the cut ones; walk.full_end or walk.end if there is none. A
// map knows itself where the walk stands.
uint openTileOfWalk(const Walk walk, const uint tile, const bool full) {
    if (HAS_TILE_MAP) {
        return nextMappedTile(full ? walk.full_end : walk.end, walk.full_first, walk.full_end, full);
    }
    if (full) {
        return openTile(tile, walk.full_end);
    }
    uint before = openTile(tile, walk.full_first);
    return before < walk.full_first ? before : openTile(max(tile, walk.full_end), walk.end);
}

uint nextTile(const Walk walk, const uint tile, const bool full) {
    if (STEPS_OVER_EMPTY_TILES) {
        return openTileOfWalk(walk, tile + 1, full);
    }
    if (full) {
        return HAS_ALIBI && tile + 1 == walk.near_first ? walk.near_end : tile + 1;
    }
    uint next = tile + 1 == walk.full_first ? walk.near_first : tile + 1;
    return next == walk.near_end ? walk.full_end : next;
}

// The whole tile that has `index` whole ones before it, and of cut ones.
uint fullTile(const Walk walk, const uint index) {
    uint tile = walk.full_first + index;
    return HAS_ALIBI && tile >= walk.near_first ? tile + (walk.near_end - walk.near_first) : tile;
}

uint partialTile(const Walk walk, const uint index) {
    uint tile = walk.first + index;
    tile += tile < walk.full_first ? 0 : walk.near_first - walk.full_first;
    return tile < walk.near_end ? tile : tile + (walk.full_end - walk.near_end);
}

#endif
