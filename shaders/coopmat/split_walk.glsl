// SPDX-License-Identifier: MIT
//
// The tiles of a walk (tile_walk.glsl) that belong to one key split.
//
// Needs: coopmat/tile_walk.glsl. Provides: splitOf, firstTiles, secondTiles, firstIfComplete.
#ifndef VKF_SPLIT_WALK_GLSL
#define VKF_SPLIT_WALK_GLSL

// The share of a walk that belongs to a split. The shares have equally many tiles, not equally many non-empty tiles.
Walk splitOf(const Walk walk, const uvec2 steps) {
    uvec2 share = walk.first + steps;
    uint full_end = clamp(walk.full_end, share.x, share.y);
    return Walk(share.x, clamp(walk.full_first, share.x, share.y), full_end, full_end, full_end, share.y);
}

// The number of full tiles of a walk that does not step over empty tiles.
uint fullCount(const Walk walk) {
    return walk.full_end - walk.full_first - (walk.near_end - walk.near_first);
}

// The split's full tiles: from the first one to behind the last one; none if y <= x. Partial tiles may lie between
// them. If the walk steps over empty tiles, it is the split's share already (splitOf).
uvec2 fullTiles(const Walk walk, const uvec2 steps) {
    if (PASSES_EMPTY_TILES) {
        return uvec2(0);
    }
    if (STEPS_OVER_EMPTY_TILES) {
        beginMapWalk(walk.full_first);
        return uvec2(firstNonEmptyTile(walk, walk.full_first, true), walk.full_end);
    }
    uint end = min(steps.y, fullCount(walk));
    return steps.x < end ? uvec2(fullTile(walk, steps.x), fullTile(walk, end - 1) + 1) : uvec2(0);
}

// The split's partial tiles, in the same form. Full tiles may lie between them.
uvec2 partialTiles(const Walk walk, const uvec2 steps) {
    if (STEPS_OVER_EMPTY_TILES) {
        beginMapWalk(walk.first);
        return uvec2(firstNonEmptyTile(walk, walk.first, false), walk.end);
    }
    uint full = fullCount(walk);
    uint begin = max(steps.x, full);
    return begin < steps.y ? uvec2(partialTile(walk, begin - full), partialTile(walk, steps.y - 1 - full) + 1)
                           : uvec2(0);
}

// The tiles of the first loop, and those of the second one.
uvec2 firstTiles(const Walk walk, const uvec2 steps) {
    return FULL_TILES_FIRST ? fullTiles(walk, steps) : partialTiles(walk, steps);
}
uvec2 secondTiles(const Walk walk, const uvec2 steps) {
    return FULL_TILES_FIRST ? partialTiles(walk, steps) : fullTiles(walk, steps);
}

// The first of these tiles if all of its keys exist, else NO_TILE.
uint firstIfComplete(const uvec2 tiles) {
    return tiles.x < tiles.y && (tiles.x + 1) * TILE_KEYS <= item.keys ? tiles.x : NO_TILE;
}

#endif
