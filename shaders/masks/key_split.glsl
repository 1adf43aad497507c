// SPDX-License-Identifier: MIT
//
// The keys of one key split in the decode kernels, whose rows are packed (common/item.glsl).
#ifndef VKF_KEY_SPLIT_GLSL
#define VKF_KEY_SPLIT_GLSL

#include "common/chosen_keys.glsl"

// The key numbers [x, y) of the item's split. The splits divide the keys that some row of the tile sees. These are keys
// of the item's sequence, so short sequences are split as evenly as long ones. Each split but the last has only
// complete tiles.
uvec2 splitKeys(const Item item, const uint tile_keys) {
    uint last = LAST_ROW(item);
    int begin = visibleKeys(item, queryRow(item.row_begin)).x;
    int end = max(visibleKeys(item, queryRow(last)).y, begin);
    ivec2 empty_keys = unseenKeys(item);
    end -= empty_keys.y - empty_keys.x;
    if (HAS_CHOSEN_KEYS) {
        begin = 0;
        end = int(list_end);
    }
    uint tiles = (uint(end - begin) + tile_keys - 1) / tile_keys;
    return min(shareOfSplit(item, tiles) * tile_keys + uint(begin), uvec2(end));
}

// The key of a key number, without lists of chosen keys. Keys between the first keys and the window have no number,
// because no row of the tile sees them.
uint keyOfNumber(const ivec2 empty_keys, const uint number) {
    return FIRST_KEYS != 0 && int(number) >= empty_keys.x ? number + uint(empty_keys.y - empty_keys.x) : number;
}

// The keys that every row of the tile sees, apart from the per-key masks of MASKS_ANY_KEY.
ivec2 commonKeys(const Item item) {
    uint last = LAST_ROW(item);
    ivec2 keys = ivec2(visibleKeys(item, queryRow(last)).x, visibleKeys(item, queryRow(item.row_begin)).y);
    return MASKS_LAST_KEYS ? min(keys, ivec2(keys.x, firstMaskedKey(item))) : keys;
}

#endif
