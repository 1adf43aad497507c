// SPDX-License-Identifier: MIT
//
// Masks that are asked key by key, inside the range that mask.glsl tells: the boolean mask.
#ifndef VKF_KEEP_GLSL
#define VKF_KEEP_GLSL

#include "broadcast_rows.glsl"
#include "call_table.glsl"

layout(constant_id = VKF_ID_MASK) const uint MASK_BITS = 0; // of an element; 0 = no mask

const uint LOG_MASK_BITS = MASK_BITS == 8 ? 3 : 0;
const bool HAS_KEEP = MASK_BITS != 0;

// What of the masks belongs to one query row.
struct RowKeep {
    BroadcastRow mask;
    uint last_key; // of the sequence
};

// Rows past the last one are the last one.
RowKeep rowKeep(const Item item, const uint head, const uint row) {
    RowKeep keep = RowKeep(BroadcastRow(uvec2(0), 0), item.keys - 1);
    if (MASK_BITS != 0) {
        CallTable table = CallTableAt(placedAddress()).table;
        keep.mask = broadcastRow(table.mask, table.mask_stride, item.batch, head, min(row, params.query_rows - 1),
                                 LOG_MASK_BITS);
    }
    return keep;
}

// Whether the row may see the key, as far as these masks go. There must be keys; past the last one it says nothing.
bool keeps(const RowKeep keep, const uint key) {
    if (MASK_BITS != 0) {
        return (broadcastBits(keep.mask, min(key, keep.last_key), LOG_MASK_BITS) & (1u << MASK_BITS) - 1) != 0;
    }
    return true;
}

#endif
