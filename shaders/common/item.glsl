// SPDX-License-Identifier: MIT
//
// From a work item's number to the tile of rows, head and sequence that it stands for.
//
// Needs: common/params.glsl, common/address64.glsl, TILE_ROWS.
// Provides: PACKED_HEADS, packedRows, LAST_ROW, queryRow, queryHead, threadIndex, keysOf, itemOf, isIdle, shareOfSplit.
#ifndef VKF_ITEM_GLSL
#define VKF_ITEM_GLSL

// The rows of a tile may be packed: all query rows of all query heads of a KV head, rows slowest. k and v are then read
// once for all of them, and the keys that a tile sees only move to the right from row to row.
layout(constant_id = VKF_ID_PACKED_HEADS) const uint PACKED_HEADS = 1;

uint packedRows(const Item item) {
    return SEQUENCE_ROWS(item) * PACKED_HEADS;
}

// Last packed row of the item's tile.
#define LAST_ROW(item) (min((item).row_begin + TILE_ROWS, packedRows(item)) - 1)

uint queryRow(const uint packed_row) {
    return packed_row / PACKED_HEADS;
}

uint queryHead(const Item item, const uint packed_row) {
    return item.head + packed_row % PACKED_HEADS;
}

// Where an invocation stands in its workgroup. With subgroup operations the lanes of one group must be neighbours in
// one subgroup, so the subgroup's own numbering decides: nothing ties gl_LocalInvocationIndex to it.
uint threadIndex() {
#ifdef VKF_SUBGROUPS
    return gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
#else
    return gl_LocalInvocationIndex;
#endif
}

// Keys of a sequence.
uint keysOf(const uint batch) {
    if (!HAS_KEY_LENGTHS) {
        return params.keys;
    }
    uvec2 address = add64(params.key_lengths, uvec2(batch * 4, 0));
    return uint(clamp(int(Word(address).value), 0, int(params.keys)));
}

#include "common/packed_sequences.glsl"

// Heads whose tiles take turns: work items count them fastest.
layout(constant_id = VKF_ID_GROUP_HEADS) const uint GROUP_HEADS = 1;

// Work items count row tiles fastest, then query heads, then splits, then sequences, so that workgroups that run
// together share k and v. Under a mask the last tiles see most keys and come first, so that no long one is left for the
// end; the heads of a group take turns. Row tiles of packed sequences stand in slots (packed_sequences.glsl).
Item itemOf(const uint number) {
    uint heads = QUERY_HEADS / PACKED_HEADS;
    uint row_tiles =
        PACKED_SEQUENCES ? slotCount() : (params.query_rows * PACKED_HEADS + TILE_ROWS - 1) / TILE_ROWS;
    uint tile = 0;
    uint sequence_head = number;
    if (row_tiles > 1) { // a division takes as long as a load from the nearest cache, and decoding has no time
        uint group = number / (row_tiles * GROUP_HEADS);
        uint in_group = number - group * (row_tiles * GROUP_HEADS);
        tile = GROUP_HEADS == 1 ? in_group : in_group / GROUP_HEADS;
        sequence_head = group * GROUP_HEADS + (GROUP_HEADS == 1 ? 0 : in_group % GROUP_HEADS);
    }

    Item item;
    item.partial_result = sequence_head / heads;
    item.head = (sequence_head - item.partial_result * heads) * PACKED_HEADS;
    item.batch = item.partial_result / KEY_SPLITS;
    item.split = item.partial_result % KEY_SPLITS;
    item.kv_head = item.head / (PACKED_HEADS > 1 ? PACKED_HEADS : KV_HEAD_QUERY_HEADS); // all heads are packed, or none
    if (PACKED_SEQUENCES) {
        item.split = item.partial_result;
        item.batch = sequenceOf(tile);
        setSequence(item);
        row_tiles = (packedRows(item) + TILE_ROWS - 1) / TILE_ROWS;
        tile -= VKF_FIRST_SLOT(item.first_row, PACKED_HEADS, TILE_ROWS, item.batch);
        tile = min(tile, row_tiles);
    } else {
        item.first_row = 0;
        item.first_key = 0;
        item.rows = params.query_rows;
        item.keys = keysOf(item.batch);
    }
    item.row_begin = (HAS_WINDOW ? row_tiles - 1 - tile : tile) * TILE_ROWS;
    item.offset = TOP_LEFT ? 0 : int(item.keys) - int(SEQUENCE_ROWS(item));
    return item;
}

// Whether there is nothing to do: a slot of packed sequences without a tile.
bool isIdle(const Item item) {
    return PACKED_SEQUENCES && item.row_begin >= packedRows(item);
}

// The item's share [x, y) of `count` tiles or steps, which the key splits divide among them.
uvec2 shareOfSplit(const Item item, const uint count) {
    uint begin = count / KEY_SPLITS * item.split + min(count % KEY_SPLITS, item.split);
    return uvec2(begin, begin + count / KEY_SPLITS + (item.split < count % KEY_SPLITS ? 1 : 0));
}

#endif
