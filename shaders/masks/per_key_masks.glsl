// SPDX-License-Identifier: MIT
//
// Per-key masks, inside the range of mask.glsl: the boolean mask, documents, the keys between the first keys and the
// window, lists of chosen keys, and the caller's own mask (keep).
#ifndef VKF_PER_KEY_MASKS_GLSL
#define VKF_PER_KEY_MASKS_GLSL

#include "masks/broadcast_rows.glsl"
#include "common/item.glsl"

layout(constant_id = VKF_ID_MASK) const uint MASK_BITS = 0; // bits of an element of the mask; 0 = no mask

const uint LOG_MASK_BITS = MASK_BITS == 8 ? 3 : 0;
layout(constant_id = VKF_ID_DOCUMENTS) const bool HAS_DOCUMENTS = false;

layout(constant_id = VKF_ID_MASK_OF_LAST_KEYS) const bool MASK_OF_LAST_KEYS = false;

// With lists of chosen keys, each entry may be a key outside of the visible range.
const bool HAS_PER_KEY_MASKS = OR_KEEP(MASK_BITS != 0 || HAS_DOCUMENTS || FIRST_KEYS != 0 || HAS_CHOSEN_KEYS);
// Whether per-key masks can hide any key, or only the last keys of a sequence.
const bool MASKS_ANY_KEY =
    OR_KEEP((MASK_BITS != 0 && !MASK_OF_LAST_KEYS) || HAS_DOCUMENTS || FIRST_KEYS != 0 || HAS_CHOSEN_KEYS);
const bool MASKS_LAST_KEYS = MASK_OF_LAST_KEYS && !MASKS_ANY_KEY;

// The key of column 0 of a mask of the last keys. It is negative if the mask has more columns than the sequence has
// keys.
int firstMaskedKey(const Item item) {
    if (EXTRA_SLOT == VKF_EXTRA_SLOT_HAS_MASK) {
        return int(item.keys) - int(SEQUENCE_ROWS(item));
    }
    return int(item.keys) - int(CallTableAt(optionalInputs()).table.mask_last_keys);
}

// Whether per-key masks may hide a key before `end`.
bool mayBeMasked(const Item item, const uint end) {
    return MASKS_ANY_KEY || (MASKS_LAST_KEYS && int(end) > firstMaskedKey(item));
}

// The inputs of the per-key masks of one query row.
struct RowMasks {
    BroadcastRow mask;
    int first_masked; // key of column 0 of the mask
    uint last_key;    // of the sequence
    uvec2 documents;  // address of the documents of the sequence's keys
    uint document;    // of the row
    bool is_position; // whether the position of the row is a key; else the row has no document
    uint first_keys;  // number of first keys that the row sees in addition to its window
    ivec2 window;     // keys [x, y) of the window
    ROW_PAIR_MEMBER
};

// A row past the last one has the masks of the last row. The mask of a draft tree needs no table, because short calls
// notice the dispatches and the barrier that a table takes.
RowMasks rowMasks(const Item item, const uint head, const uint row) {
    RowMasks masks = RowMasks(BroadcastRow(uvec2(0), 0), 0, item.keys - 1, uvec2(0), 0, true, 0,
                              WITH_ROW_PAIR(ivec2(0), item, head, row));
    if (MASK_BITS != 0) {
        uint rows = SEQUENCE_ROWS(item);
        if (EXTRA_SLOT == VKF_EXTRA_SLOT_HAS_MASK) {
            uvec2 stride[3] = uvec2[3](multiply64(rows, rows * MASK_BITS), uvec2(0), multiply64(rows, MASK_BITS));
            masks.mask = broadcastRow(optionalInputs(), stride, uint[2](~0u, 1u), item.batch, head, min(row, rows - 1),
                                      LOG_MASK_BITS);
        } else {
            CallTable table = CallTableAt(optionalInputs()).table;
            masks.mask = broadcastRow(table.mask, table.mask_stride, table.mask_repeats, item.batch, head,
                                      min(row, rows - 1), LOG_MASK_BITS);
        }
        masks.first_masked = MASK_OF_LAST_KEYS ? firstMaskedKey(item) : 0;
    }
    if (HAS_DOCUMENTS) {
        int position = int(min(row, SEQUENCE_ROWS(item) - 1) + item.keys) - int(SEQUENCE_ROWS(item));
        uvec2 first =
            PACKED_SEQUENCES && !PAGED ? multiply64(item.first_key, 4) : multiply64(item.batch, params.keys * 4);
        masks.documents = add64(VKF_TABLE_ADDRESS(documents), first);
        masks.is_position = position >= 0;
        masks.document = Word(add64(masks.documents, uvec2(max(position, 0) * 4, 0))).value;
    }
    if (FIRST_KEYS != 0) {
        masks.first_keys = uint(firstKeysOf(item, row));
        masks.window = windowKeys(item, row);
    }
    return masks;
}

// Whether no per-key mask hides the key from the row. The sequence must have keys. Past the last key the result has no
// meaning.
bool isUnmasked(const RowMasks masks, const uint key) {
    bool unmasked = true;
    uint existing = min(key, masks.last_key);
    if (MASK_OF_LAST_KEYS) {
        int column = int(existing) - masks.first_masked;
        uint bits = broadcastBits(masks.mask, uint(max(column, 0)), LOG_MASK_BITS);
        unmasked = column < 0 || (bits & ((1u << MASK_BITS) - 1)) != 0;
    } else if (MASK_BITS != 0) {
        unmasked = (broadcastBits(masks.mask, existing, LOG_MASK_BITS) & ((1u << MASK_BITS) - 1)) != 0;
    }
    if (HAS_DOCUMENTS) {
        uint document = Word(add64(masks.documents, uvec2(existing * 4, 0))).value;
        unmasked = unmasked && masks.is_position && document == masks.document;
    }
    if (FIRST_KEYS != 0) {
        unmasked = unmasked && (key < masks.first_keys || isVisible(masks.window, key));
    }
    return AND_KEEPS(unmasked, masks, key);
}

#endif
