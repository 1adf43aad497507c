// SPDX-License-Identifier: MIT
//
// The tiles of a walk (tile_walk.glsl) that belong to one key split.
//
// Needs: coopmat/tile_walk.glsl. Provides: splitOf, fullTiles, partialTiles.
#ifndef VKF_SPLIT_WALK_GLSL
#define VKF_SPLIT_WALK_GLSL

// The part of a walk that belongs to a split. Splits have equally many tiles, not equally many non-empty ones.
Walk splitOf(const Walk walk, const uvec2 steps) {
    uvec2 part = walk.first + steps;
    uint full_end = clamp(walk.full_end, part.x, part.y);
    return Walk(part.x, clamp(walk.full_first, part.x, part.y), full_end, full_end, full_end, part.y);
}

// Full tiles of a walk that does not step over tiles.
uint fullCount(const Walk walk) {
    return walk.full_end - walk.full_first - (walk.near_end - walk.near_first);
}

// The split's full tiles: from the first to behind the last one; none if y <= x. A walk that steps over empty tiles has
// been divided by splitOf.
uvec2 fullTiles(const Walk walk, const uvec2 steps) {
    if (PASSES_EMPTY_TILES) {
        return uvec2(0);
    }
    if (STEPS_OVER_EMPTY_TILES) {
        beginMapWalk(walk.full_first);
        return uvec2(openTileOfWalk(walk, walk.full_first, true), walk.full_end);
    }
    uint end = min(steps.y, fullCount(walk));
    return steps.x < end ? uvec2(fullTile(walk, steps.x), fullTile(walk, end - 1) + 1) : uvec2(0);
}

// The split's partial tiles, alike. Full tiles may lie between them.
uvec2 partialTiles(const Walk walk, const uvec2 steps) {
    if (STEPS_OVER_EMPTY_TILES) {
        beginMapWalk(walk.first);
        return uvec2(openTileOfWalk(walk, walk.first, false), walk.end);
    }
    uint full = fullCount(walk);
    uint begin = max(steps.x, full);
    return begin < steps.y ? uvec2(partialTile(walk, begin - full), partialTile(walk, steps.y - 1 - full) + 1)
                           : uvec2(0);
}

#endif
