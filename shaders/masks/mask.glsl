// SPDX-License-Identifier: MIT
//
// Which keys a query row sees: the half-open range [x, y). A causal mask is a window with right = 0, so one range
// describes both. Neither end of the range moves to the left from one row to the next. block_mask.glsl and
// per_key_masks.glsl drop keys inside the range.
#ifndef VKF_MASK_GLSL
#define VKF_MASK_GLSL

// A range of positions as bits of a uint: bit i stands for position i. Macros, so that positions may be signed or
// unsigned.

// Bits of the positions from `first` on. The caller passes as `shift`: 0 if `first` is negative; `first` if it is 0 to
// 31. For `first` of 32 or more the result is 0, and `shift` is not used.
#define BITS_FROM(first, shift) ((first) < 32 ? 0xffffffffu << (shift) : 0)

// Bits of the positions before `end`.
#define BITS_BEFORE(end) ((end) > 0 ? 0xffffffffu >> (32 - min(end, 32)) : 0)

layout(constant_id = VKF_ID_FIRST_KEYS) const uint FIRST_KEYS = 0; // seen in addition to the window; 0 without a window
layout(constant_id = VKF_ID_FIRST_KEYS_CAUSAL) const bool FIRST_KEYS_CAUSAL = false;

// Keys of the row's window. Without a window: all keys of the sequence.
ivec2 windowKeys(const Item item, const uint row) {
    int keys = int(item.keys);
    if (!HAS_WINDOW) {
        return ivec2(0, keys);
    }
    int diagonal = rowPosition(item, row);
    int left = EXTRA_SLOT != VKF_EXTRA_SLOT_HAS_WINDOW ? WINDOW_LEFT : params.extra_slot_low;
    int right = EXTRA_SLOT != VKF_EXTRA_SLOT_HAS_WINDOW ? WINDOW_RIGHT : params.extra_slot_high;
    return ivec2(max(firstKeyFrom(VKF_WINDOW_BEGIN(diagonal, left)), 0),
                 min(firstKeyFrom(VKF_WINDOW_END(diagonal, right)), keys));
}

// Number of first keys that a row sees in addition to its window.
int firstKeysOf(const Item item, const uint row) {
    int most = FIRST_KEYS_CAUSAL ? firstKeyFrom(rowPosition(item, row) + 1) : int(item.keys);
    return clamp(min(most, int(item.keys)), 0, int(FIRST_KEYS));
}

// Keys that the row sees. With first keys, the range includes the keys between the first keys and the window.
// per_key_masks.glsl drops these.
ivec2 visibleKeys(const Item item, const uint row) {
    ivec2 visible = windowKeys(item, row);
    if (FIRST_KEYS != 0) {
        int first = firstKeysOf(item, row);
        visible = first > 0 ? ivec2(0, max(first, visible.y)) : visible;
    }
    return visible;
}

// Keys [x, y) between the first keys and the window that no row of the tile sees. They lie inside TileMask::any.
ivec2 unseenKeys(const Item item) {
    if (FIRST_KEYS == 0 || HAS_CHOSEN_KEYS) { // the walk over a list leaves out no entries
        return ivec2(0);
    }
    uint last = queryRow(LAST_ROW(item));
    int begin = firstKeysOf(item, last);
    int end = min(windowKeys(item, queryRow(item.row_begin)).x, visibleKeys(item, last).y);
    return ivec2(begin, begin == 0 ? 0 : max(begin, end));
}

// The visible ranges of a tile of rows.
struct TileMask {
    ivec2 any; // keys that some row of the tile may see
    ivec2 all; // keys that every row of the tile sees; empty if y <= x
};

TileMask tileMask(const Item item) {
    uint last_row = LAST_ROW(item);
    ivec2 first = visibleKeys(item, queryRow(item.row_begin));
    ivec2 last = visibleKeys(item, queryRow(last_row));
    return TileMask(ivec2(first.x, last.y), ivec2(last.x, first.y));
}

// Whether keys [begin, end) make a partial tile.
bool isPartial(const TileMask mask, const uint begin, const uint end) {
    return int(begin) < mask.all.x || int(end) > mask.all.y;
}

bool isVisible(const ivec2 visible, const uint key) {
    return int(key) >= visible.x && int(key) < visible.y;
}

// Marks the probability of a key that the row does not see. The marker is not 0: 0 times a value of NaN or infinity
// would be NaN. The kernel skips the value instead. No probability is negative.
#define DROPPED (-1.0)

#endif
