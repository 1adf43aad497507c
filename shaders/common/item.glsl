// SPDX-License-Identifier: MIT
//
// Finds the tile of rows, the head and the sequence of a work item from its number.
#ifndef VKF_ITEM_GLSL
#define VKF_ITEM_GLSL

// A tile may hold packed rows: the query rows of all query heads of a KV head, as an array [rows, heads]. The heads
// then share one load of k and v. The visible range of keys still never moves to the left from one packed row to the
// next.
layout(constant_id = VKF_ID_PACKED_HEADS) const uint PACKED_HEADS = 1;

// Tiles of rows in a tile of the map of tiles (masks/tile_map.glsl). The last of them may have no rows.
layout(constant_id = VKF_ID_MAP_ROW_TILES) const uint MAP_ROW_TILES = 1;

// The end of the packed rows that may share the item's tile: those of the sequence, or of one row with a list of its
// own.
uint packedRows(const Item item) {
    return LISTS_BY_ROW ? (item.row_begin / PACKED_HEADS + 1) * PACKED_HEADS
                        : VKF_PACKED_ROWS(SEQUENCE_ROWS(item), PACKED_HEADS);
}

// Tiles of so many query rows. LIST_TILES are those of a row with a list of its own.
#define LIST_TILES VKF_TILES(PACKED_HEADS, TILE_ROWS)
#define TILES_OF_ROWS(rows)                                                                                            \
    (LISTS_BY_ROW ? (rows)*LIST_TILES : VKF_TILES(VKF_PACKED_ROWS(rows, PACKED_HEADS), TILE_ROWS))

// Last packed row of the item's tile.
#define LAST_ROW(item) VKF_LAST_ROW((item).row_begin, TILE_ROWS, packedRows(item))

uint queryRow(const uint packed_row) {
    return packed_row / PACKED_HEADS;
}

uint queryHead(const Item item, const uint packed_row) {
    return item.head + packed_row % PACKED_HEADS;
}

// Number of the invocation in its workgroup. With subgroup operations, the lanes of one group must be neighbours in one
// subgroup. Vulkan does not say how gl_LocalInvocationIndex relates to subgroups, so the number is made of the
// subgroup's own numbers.
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

// Addresses of the optional inputs of a call.
#include "shared/call_table.h"

layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer CallTableAt {
    CallTable table;
};

// The address in the extra slot: the address of the only optional input, or of the table.
uvec2 optionalInputs() {
    return uvec2(params.extra_slot_low, params.extra_slot_high);
}

// The address of one optional input.
#define VKF_TABLE_ADDRESS(field)                                                                                       \
    (EXTRA_SLOT == VKF_EXTRA_SLOT_HAS_TABLE ? CallTableAt(optionalInputs()).table.field : optionalInputs())

#include "functions/arrays.glsl"

// Packed sequences: finds the sequence of a work item's tile (VKF_FIRST_SEQUENCE_TILE in shared/work_items.h), and
// where its rows and keys lie in the tensors. Starts and lengths in memory are clamped, so that no value leads outside
// the tensors.
uint sequenceTileCount() {
    return CallTableAt(optionalInputs()).table.tile_count;
}

uint sequenceOf(const uint tile) {
    return Word(add64(CallTableAt(optionalInputs()).table.tile_sequences, multiply64(tile, 4))).value;
}

// The rows or keys [x, y) of a sequence, clamped to `count`, the number in all sequences.
uvec2 boundsOf(const uvec2 starts, const uint sequence, const uint count) {
    uvec2 address = add64(starts, multiply64(sequence, 4));
    int begin = clamp(int(Word(address).value), 0, int(count));
    int end = clamp(int(Word(add64(address, uvec2(4, 0))).value), begin, int(count));
    return uvec2(begin, end);
}

// Sets first_row, rows, first_key and keys of the item.
void setSequence(inout Item item) {
    CallTable table = CallTableAt(optionalInputs()).table;
    uvec2 rows = boundsOf(table.row_starts, item.batch, params.query_rows);
    item.first_row = rows.x;
    item.rows = min(rows.y - rows.x, table.longest_rows);
    item.first_key = 0;
    item.keys = min(keysOf(item.batch), table.longest_keys);
    if (!PAGED) {
        uvec2 keys = boundsOf(table.key_starts, item.batch, params.keys);
        item.first_key = keys.x;
        item.keys = min(item.keys, keys.y - keys.x);
    }
}

// Where row 0 of the item's sequence stands, if key 0 stands at 0.
int offsetOf(const Item item) {
    if (POSITIONS != VKF_POSITIONS_NONE) {
        uvec2 offset = CallTableAt(optionalInputs()).table.row_offset;
        if (POSITIONS == VKF_POSITIONS_BY_SEQUENCE) {
            offset = uvec2(Word(add64(offset, multiply64(item.batch, 4))).value, 0);
        }
        return clamp(int(offset.x), -VKF_MAX_POSITION, VKF_MAX_POSITION - int(params.query_rows) * ROW_STRIDE);
    }
    return TOP_LEFT ? 0 : int(item.keys) - int(SEQUENCE_ROWS(item));
}

// Where a query row and a key stand. Without positions of the call's own a key stands at its number.
int rowPosition(const Item item, const uint row) {
    return (POSITIONS == VKF_POSITIONS_NONE ? int(row) : int(row) * ROW_STRIDE) + item.offset;
}

int keyPosition(const uint key) {
    return POSITIONS == VKF_POSITIONS_NONE ? int(key) : int(key) * KEY_STRIDE;
}

// The first key at or after a position.
int firstKeyFrom(const int position) {
    return VKF_FIRST_FROM(position, KEY_STRIDE);
}

// Number of heads whose tiles take turns: work items count these heads fastest.
layout(constant_id = VKF_ID_INTERLEAVED_HEADS) const uint INTERLEAVED_HEADS = 1;

// Work items count row tiles fastest, then query heads, then splits, then sequences. So workgroups that run at the same
// time share k and v. With INTERLEAVED_HEADS > 1, work items count a set of so many heads first, then row tiles. With a
// window, row tiles count backwards: under a causal mask the last tiles see most keys, and no long tile starts last.
// Row tiles of packed sequences have a list of tile sequences (listed by common/list_sequences.comp).
Item itemOf(const uint number) {
    uint heads = QUERY_HEADS / PACKED_HEADS;
    const uint together = TILE_ROWS * MAP_ROW_TILES;
    uint row_tiles = PACKED_SEQUENCES ? sequenceTileCount()
                     : LISTS_BY_ROW
                         ? params.query_rows * LIST_TILES
                         : VKF_TILES(VKF_PACKED_ROWS(params.query_rows, PACKED_HEADS), together) * MAP_ROW_TILES;
    uint tile = 0;
    uint sequence_head = number;
    if (row_tiles > 1) { // decoding skips the divisions: one takes as long as a load from the nearest cache
        uint head_set = VKF_ITEM_HEAD_SET(number, row_tiles, INTERLEAVED_HEADS);
        uint in_set = VKF_ITEM_IN_SET(number, head_set, row_tiles, INTERLEAVED_HEADS);
        tile = VKF_ITEM_TILE(in_set, INTERLEAVED_HEADS);
        sequence_head = VKF_ITEM_HEAD(head_set, in_set, INTERLEAVED_HEADS);
    }

    Item item;
    item.partial_result = sequence_head / heads;
    item.head = (sequence_head - item.partial_result * heads) * PACKED_HEADS;
    item.batch = item.partial_result / KEY_SPLITS;
    item.split = item.partial_result % KEY_SPLITS;
    // PACKED_HEADS is 1, or all query heads of a KV head.
    item.kv_head = item.head / (PACKED_HEADS > 1 ? PACKED_HEADS : KV_HEAD_QUERY_HEADS);
    if (PACKED_SEQUENCES) {
        item.split = item.partial_result;
        item.batch = sequenceOf(tile);
        setSequence(item);
        row_tiles = TILES_OF_ROWS(item.rows);
        tile -= LISTS_BY_ROW ? VKF_FIRST_SEQUENCE_TILE(item.first_row, LIST_TILES, 1, item.batch)
                             : VKF_FIRST_SEQUENCE_TILE(item.first_row, PACKED_HEADS, TILE_ROWS, item.batch);
        tile = min(tile, row_tiles);
    } else {
        item.first_row = 0;
        item.first_key = 0;
        item.rows = params.query_rows;
        item.keys = keysOf(item.batch);
    }
    item.row_begin = LISTS_BY_ROW ? tile / LIST_TILES * PACKED_HEADS + tile % LIST_TILES * TILE_ROWS
                                  : VKF_ROW_BEGIN(HAS_WINDOW, row_tiles, tile, TILE_ROWS);
    item.offset = offsetOf(item);
    return item;
}

// Whether the item is a tile of packed sequences without rows. There is nothing to do then.
bool isIdle(const Item item) {
    return PACKED_SEQUENCES && item.row_begin >= VKF_PACKED_ROWS(item.rows, PACKED_HEADS);
}

// The fixed number of tiles of a key split of a row tile that sees `count` of them: SPLIT_TILES times the least power
// of two that makes no more than VKF_MOST_FIXED_SPLITS. It must depend on nothing but the sequence: not on KEY_SPLITS,
// which the longest sequence of the call decides.
uint splitTiles(const uint count) {
    uint ratio = VKF_TILES(max(VKF_TILES(count, VKF_MOST_FIXED_SPLITS), 1), SPLIT_TILES);
    return SPLIT_TILES << (findMSB(ratio - 1) + 1);
}

// The share [x, y) of the item's key split in `count` tiles or steps. Where splits have a fixed number of tiles, the
// last split takes all tiles that the host did not expect.
uvec2 shareOfSplit(const Item item, const uint count) {
    if (SPLIT_TILES != 0) {
        uint tiles = splitTiles(count);
        uint first = min(item.split * tiles, count);
        return uvec2(first, item.split + 1 == KEY_SPLITS ? count : min(first + tiles, count));
    }
    uint begin = VKF_SHARE_BEGIN(count, KEY_SPLITS, item.split);
    return uvec2(begin, begin + count / KEY_SPLITS + (item.split < count % KEY_SPLITS ? 1 : 0));
}

#endif
