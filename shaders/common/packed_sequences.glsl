// SPDX-License-Identifier: MIT
//
// Packed sequences: finds the sequence of a work item's tile (VKF_FIRST_SEQUENCE_TILE in shared/work_items.h), and where its
// rows and keys lie in the tensors. Starts and lengths in memory are clamped, so that no value leads outside the
// tensors.
//
// Needs: common/params.glsl, common/address64.glsl, keysOf of common/item.glsl. Provides: sequenceTileCount, sequenceOf,
// setSequence.
#ifndef VKF_PACKED_SEQUENCES_GLSL
#define VKF_PACKED_SEQUENCES_GLSL

#include "common/call_table.glsl"

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

#endif
