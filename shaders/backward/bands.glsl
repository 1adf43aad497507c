// SPDX-License-Identifier: MIT
//
// Bands of keys: a band is BAND_TILES consecutive tiles of keys. A kernel that owns keys can store ds in scratch
// memory, for the keys of one band. Then dq needs one product: ds k. Without that, the kernel of dq computes scores and
// dp again, three products. The kernel can also store p and leave dv = p^T dout and dk = ds^T q to others, so that it
// needs no registers for sums.
//
// A round of work items computes the bands of BAND_HEADS KV heads. The next round of backward_sums.comp adds their ds k
// to dq. The rounds of these heads follow one another, from the first band to the last.
#ifndef VKF_BANDS_GLSL
#define VKF_BANDS_GLSL

layout(constant_id = VKF_ID_BAND_TILES) const uint BAND_TILES = 0;
layout(constant_id = VKF_ID_BAND_HEADS) const uint BAND_HEADS = 1;

const bool STORES_DS = BAND_TILES != 0;

struct Band {
    uint number;     // of the band among those of its heads
    uint first_head; // the first KV head of the pass, counted over all sequences
    uint rest;       // number of the work item in its pass
};

// The band of a work item. `items`: work items of a round. `tiles`: tiles of keys of a sequence.
Band bandOf(const uint number, const uint items, const uint tiles) {
    const uint band_tiles = max(BAND_TILES, 1); // never a division by 0
    uint bands = VKF_TILES(tiles, band_tiles);
    uint pass = number / items;
    return Band(pass % bands, pass / bands * BAND_HEADS, number - pass * items);
}

// The first query row at or after a position, less item.offset.
int firstRowFrom(const int position) {
    return VKF_FIRST_FROM(position, ROW_STRIDE);
}

// Rows [x, y) that may see keys [begin, end): the inverse of visibleKeys.
uvec2 rowsThatSee(const Item item, const uint begin, const uint end) {
    int rows = int(SEQUENCE_ROWS(item));
    ivec2 seeing = ivec2(0, rows);
    int first = int(begin);
    int last = int(min(end, item.keys));
    if (HAS_WINDOW) {
        seeing = ivec2(max(firstRowFrom(VKF_SEEING_BEGIN(keyPosition(begin), item.offset, WINDOW_RIGHT)), 0),
                       min(firstRowFrom(VKF_SEEING_END(keyPosition(last - 1) + 1, item.offset, WINDOW_LEFT)), rows));
        if (first < int(min(FIRST_KEYS, item.keys))) {
            seeing = ivec2(FIRST_KEYS_CAUSAL ? seeing.x : 0, rows);
        }
    }
    return first < last && seeing.x < seeing.y ? uvec2(seeing) : uvec2(0);
}

#endif
