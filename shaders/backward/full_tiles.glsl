// SPDX-License-Identifier: MIT
//
// The range of the full tiles of an owner of keys or rows: all rows of the tile see all of its keys, as far as windows
// and key lengths say.
#ifndef VKF_FULL_TILES_GLSL
#define VKF_FULL_TILES_GLSL

// The last tile may have rows past the last one, which do not count.
uvec2 fullRows() {
    int rows = int(SEQUENCE_ROWS(item));
    ivec2 full = ivec2(0, VKF_END_OF_KEYS <= item.keys ? rows : 0);
    if (HAS_WINDOW) {
        full.x = firstRowFrom(VKF_SEEING_BEGIN(keyPosition(VKF_END_OF_KEYS - 1), item.offset, WINDOW_RIGHT));
        full.y = min(firstRowFrom(VKF_SEEING_END(keyPosition(key_begin) + 1, item.offset, WINDOW_LEFT)), full.y);
    }
    bool to_the_end = full.y == rows;
    uvec2 tiles = (uvec2(max(full, ivec2(0))) + uvec2(TILE_ROWS - 1, to_the_end ? TILE_ROWS - 1 : 0)) / TILE_ROWS;
    return tiles * TILE_ROWS;
}

uvec2 fullKeys() {
    return (uvec2(max(mask.all, ivec2(0))) + uvec2(TILE_KEYS - 1, 0)) / TILE_KEYS * TILE_KEYS;
}

#endif
