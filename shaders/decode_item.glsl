// SPDX-License-Identifier: MIT
//
// Work items of the decode kernels. The rows of a tile are packed: all query heads of a KV head and all
// query rows, rows slowest, so that K and V are read once for all of them and the keys that a tile sees only
// move to the right from row to row.
#ifndef VKF_DECODE_ITEM_GLSL
#define VKF_DECODE_ITEM_GLSL

uint groupHeads() {
    return params.heads >> 16;
}

uint packedRows() {
    return groupHeads() * params.query_rows;
}

uint queryRow(const uint packed_row) {
    return packed_row / groupHeads();
}

uint queryHead(const Item item, const uint packed_row) {
    return item.kv_head * groupHeads() + packed_row % groupHeads();
}

// Row tiles count fastest, then KV heads, then splits, then sequences. row_begin is a packed row, and head is
// left to queryHead.
Item packedItemOf(const uint number) {
    uint kv_heads = (params.heads & 0xffffu) / groupHeads();
    uint row_tiles = (packedRows() + TILE_ROWS - 1) / TILE_ROWS;
    uint sequence_head = number / row_tiles;

    Item item;
    item.kv_head = sequence_head % kv_heads;
    item.head = 0;
    item.part = sequence_head / kv_heads;
    item.batch = item.part / SPLITS;
    item.split = item.part % SPLITS;
    item.row_begin = number % row_tiles * TILE_ROWS;
    item.keys = keysOf(item.batch);
    item.offset = TOP_LEFT ? 0 : int(item.keys) - int(params.query_rows);
    return item;
}

// Keys [x, y) that fall to this split of those that some row of the tile sees: a part of the sequence's own
// keys, so that short sequences are as evenly split as long ones. Parts are whole tiles but for the last.
uvec2 splitKeys(const Item item, const uint tile_keys) {
    uint last = min(item.row_begin + TILE_ROWS, packedRows()) - 1;
    int begin = visibleKeys(item, queryRow(item.row_begin)).x;
    int end = max(visibleKeys(item, queryRow(last)).y, begin);
    uint tiles = (uint(end - begin) + tile_keys - 1) / tile_keys;
    return min(shareOfSplit(item, tiles) * tile_keys + uint(begin), uvec2(end));
}

// Keys that every row of the tile sees.
ivec2 commonKeys(const Item item) {
    uint last = min(item.row_begin + TILE_ROWS, packedRows()) - 1;
    return ivec2(visibleKeys(item, queryRow(last)).x, visibleKeys(item, queryRow(item.row_begin)).y);
}

#endif
