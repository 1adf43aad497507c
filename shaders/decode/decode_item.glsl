// SPDX-License-Identifier: MIT
//
// Parts of the keys of the decode kernels, whose rows are packed (item.glsl).
#ifndef VKF_DECODE_ITEM_GLSL
#define VKF_DECODE_ITEM_GLSL

// Keys [x, y) that fall to this split of those that some row of the tile sees: a part of the sequence's own
// keys, so that short sequences are as evenly split as long ones. Parts are whole tiles but for the last.
uvec2 splitKeys(const Item item, const uint tile_keys) {
    uint last = min(item.row_begin + TILE_ROWS, packedRows(item)) - 1;
    int begin = visibleKeys(item, queryRow(item.row_begin)).x;
    int end = max(visibleKeys(item, queryRow(last)).y, begin);
    ivec2 unseen = unseenKeys(item);
    end -= unseen.y - unseen.x;
    uint tiles = (uint(end - begin) + tile_keys - 1) / tile_keys;
    return min(shareOfSplit(item, tiles) * tile_keys + uint(begin), uvec2(end));
}

// Where a number of splitKeys stands: keys between the first ones and the window have none.
uint keyOfNumber(const ivec2 unseen, const uint number) {
    return FIRST_KEYS != 0 && int(number) >= unseen.x ? number + uint(unseen.y - unseen.x) : number;
}

// Keys that every row of the tile sees.
ivec2 commonKeys(const Item item) {
    uint last = min(item.row_begin + TILE_ROWS, packedRows(item)) - 1;
    return ivec2(visibleKeys(item, queryRow(last)).x, visibleKeys(item, queryRow(item.row_begin)).y);
}

#endif
