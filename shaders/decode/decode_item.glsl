// SPDX-License-Identifier: MIT
//
// The keys of one key split in the decode kernels, whose rows are packed (common/item.glsl).
//
// Needs: common/item.glsl, masks/mask.glsl, TILE_ROWS. Provides: splitKeys, keyOfNumber, commonKeys.
#ifndef VKF_DECODE_ITEM_GLSL
#define VKF_DECODE_ITEM_GLSL

// Key numbers [x, y) of the item's split. The splits divide the keys that some row of the tile sees: the sequence's own
// keys, so that short sequences are as evenly split as long ones. A split is a number of tiles but for the last one.
uvec2 splitKeys(const Item item, const uint tile_keys) {
    uint last = LAST_ROW(item);
    int begin = visibleKeys(item, queryRow(item.row_begin)).x;
    int end = max(visibleKeys(item, queryRow(last)).y, begin);
    ivec2 unseen = unseenKeys(item);
    end -= unseen.y - unseen.x;
    uint tiles = (uint(end - begin) + tile_keys - 1) / tile_keys;
    return min(shareOfSplit(item, tiles) * tile_keys + uint(begin), uvec2(end));
}

// The key of a number: keys between the first keys and the window, which nobody sees, have no number.
uint keyOfNumber(const ivec2 unseen, const uint number) {
    return FIRST_KEYS != 0 && int(number) >= unseen.x ? number + uint(unseen.y - unseen.x) : number;
}

// Keys that every row of the tile sees.
ivec2 commonKeys(const Item item) {
    uint last = LAST_ROW(item);
    return ivec2(visibleKeys(item, queryRow(last)).x, visibleKeys(item, queryRow(item.row_begin)).y);
}

#endif
