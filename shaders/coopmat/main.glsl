// SPDX-License-Identifier: MIT
//
// The main function of the kernels of path coopmat on matrices. attention_coopmat.comp explains them.
#ifndef VKF_COOPMAT_MAIN_GLSL
#define VKF_COOPMAT_MAIN_GLSL

// The share of a walk (tile_walk.glsl) that belongs to a split. The shares have equally many tiles, not equally many
// non-empty tiles.
Walk splitOf(const Walk walk, const uvec2 tile_range) {
    uvec2 share = walk.first + tile_range;
    uint full_end = clamp(walk.full_end, share.x, share.y);
    return Walk(share.x, clamp(walk.full_first, share.x, share.y), full_end, full_end, full_end, share.y);
}

// The number of full tiles of a walk that does not skip empty tiles.
uint fullCount(const Walk walk) {
    return walk.full_end - walk.full_first - (walk.diagonal_end - walk.diagonal_first);
}

// The split's full tiles: from the first one to behind the last one; none if y <= x. Partial tiles may lie between
// them. If the walk skips empty tiles, it is the split's share already (splitOf).
uvec2 fullTiles(const Walk walk, const uvec2 tile_range) {
    if (SKIPS_FIRST_KEYS_GAP) {
        return uvec2(0);
    }
    if (SKIPS_BY_MAP) {
        beginMapWalk(walk.full_first);
        return uvec2(firstNonEmptyTile(walk, walk.full_first, true), walk.full_end);
    }
    uint end = min(tile_range.y, fullCount(walk));
    return tile_range.x < end ? uvec2(fullTile(walk, tile_range.x), fullTile(walk, end - 1) + 1) : uvec2(0);
}

// The split's partial tiles, in the same form. Full tiles may lie between them.
uvec2 partialTiles(const Walk walk, const uvec2 tile_range) {
    if (SKIPS_BY_MAP) {
        beginMapWalk(walk.first);
        return uvec2(firstNonEmptyTile(walk, walk.first, false), walk.end);
    }
    uint full = fullCount(walk);
    uint begin = max(tile_range.x, full);
    return begin < tile_range.y ? uvec2(partialTile(walk, begin - full), partialTile(walk, tile_range.y - 1 - full) + 1)
                                : uvec2(0);
}

// The tiles of the first loop, and those of the second one.
uvec2 firstTiles(const Walk walk, const uvec2 tile_range) {
    return FULL_TILES_FIRST ? fullTiles(walk, tile_range) : partialTiles(walk, tile_range);
}
uvec2 secondTiles(const Walk walk, const uvec2 tile_range) {
    return FULL_TILES_FIRST ? partialTiles(walk, tile_range) : fullTiles(walk, tile_range);
}

// The first of these tiles if all of its keys exist, else NO_TILE.
uint firstIfComplete(const uvec2 tiles) {
    return tiles.x < tiles.y && (tiles.x + 1) * TILE_KEYS <= item.keys ? tiles.x : NO_TILE;
}

void main() {
    thread = threadIndex();
    subgroup = thread / LANES;
    lane = thread % LANES;
    item = itemOf(params.first_item + gl_WorkGroupID.x); // 3
    if (isIdle(item)) {
        return;
    }
    if (!takeMappedTile(item)) {
        return;
    }
    first_row = item.row_begin + subgroup * SUBGROUP_STRIDE;
    q = halfRowsOf(params.q, VKF_Q, item, SEQUENCE_ROWS(item));
    beginList(item);
    k = halfRowsOf(params.k, VKF_K, item, HAS_CHOSEN_KEYS ? list_end : item.keys);
    v = halfRowsOf(params.v, VKF_V, item, HAS_CHOSEN_KEYS ? list_end : item.keys);
    watchSpecialValues();
    loadScales(item.kv_head);
    beginBlocks(item);
    setSlopes();
    setBiasFactors();
    beginBias(thread);
    setDropout();
    loadQueries(); // 4
    clearState();  // 5
    TileMask mask = tileMask(item);
    if (HAS_CHOSEN_KEYS) { // the walk goes over the entries of a list, of which no tile counts as full
        mask = TileMask(ivec2(0, list_end), ivec2(0));
    }
    bool sees_keys = mask.any.x < mask.any.y;
    lookForAbsentPages(item, thread, uint(max(mask.any.x, 0)), uint(max(mask.any.y, 0)));
    if (some_absent) { // no tile counts as full
        mask.all = ivec2(0);
    }
    Walk walk = walkOf(mask);
    uint left_out = SKIPS_FIRST_KEYS_GAP && !SKIPS_BY_MAP ? walk.full_end - walk.full_first : 0;
    uvec2 tile_range = shareOfSplit(item, walk.end - walk.first - left_out) + left_out;
    if (SKIPS_BY_MAP) {
        walk = splitOf(walk, tile_range);
    }
    if (FETCHES_EARLY && sees_keys) {
        uvec2 tiles = firstTiles(walk, tile_range);
        if (tiles.x < tiles.y) {
            fetchTile(k, v, tiles.x * TILE_KEYS, FULL_TILES_FIRST, thread); // 7
        }
    }
    barrier();
    if (CLEARS_STAGE) {
        clearStage(thread);
        barrier();
    }
    if (sees_keys) {
        bool fetched = false;
        uvec2 tiles = firstTiles(walk, tile_range);
        if (tiles.x < tiles.y) {
            uint following = FETCHES_AHEAD ? firstIfComplete(secondTiles(walk, tile_range)) : NO_TILE;
            attend(walk, tiles.x, tiles.y - 1, FETCHES_EARLY, following, FULL_TILES_FIRST); // 6 to 11
            fetched = following != NO_TILE;
        }
        tiles = secondTiles(walk, tile_range);
        if (tiles.x < tiles.y) {
            attend(walk, tiles.x, tiles.y - 1, fetched, NO_TILE, !FULL_TILES_FIRST);
        }
    }
    endSpecialValues();
    writeResults(); // 12 to 15
}

#endif
