// SPDX-License-Identifier: MIT
//
// Flags of a group of keys in map_tiles.comp: which of its keys the masks leave for one row, and for the rows of the
// tile.
//
// Needs: masks/mask.glsl, masks/per_key_masks.glsl, masks/block_mask.glsl; GROUP_KEYS, FLAG_BITS, ALL_FLAGS, ROW_LANES,
// ROWS_AT_ONCE, OF_WORKGROUP, item, rows, seen_flags, unmasked_flags, queryRowOf and queryHeadOf of map_tiles.comp.
// Provides: flagsOf, addRows.
#ifndef VKF_MAP_FLAGS_GLSL
#define VKF_MAP_FLAGS_GLSL

#include "masks/range_bits.glsl"

// Flags of keys [begin, end), counted from the group's first key.
uint flagsOf(const int begin, const int end) {
    uint first = uint(clamp(begin, 0, int(GROUP_KEYS))) * FLAG_BITS;
    uint last = uint(clamp(end, 0, int(GROUP_KEYS))) * FLAG_BITS;
    uint after_first = BITS_FROM(first, first);
    uint after_last = BITS_FROM(last, last);
    return after_first & ~after_last & ALL_FLAGS;
}

// Flags of the keys that the boolean mask leaves. A row may begin inside a word. The word after the last key is not
// read.
uint maskFlags(const RowMasks masks, const uint key) {
    uint element = masks.mask.first + key;
    uint shift = element % GROUP_KEYS * FLAG_BITS;
    uvec2 address = add64(masks.mask.address, uvec2(element / GROUP_KEYS * 4, 0));
    uint bits = Word(address).value >> shift;
    if (shift != 0 && key + GROUP_KEYS - element % GROUP_KEYS <= masks.last_key) {
        bits |= Word(add64(address, uvec2(4, 0))).value << 32 - shift;
    }
    return MASK_BITS == 1 ? bits : ((bits & 0x7f7f7f7fu) + 0x7f7f7f7fu | bits) & ALL_FLAGS;
}

// Flags of the keys that documents and the block mask leave. `documents`: test documents.
uint testedFlags(const RowMasks masks, const uint row, const uint key, const bool documents) {
    uint flags = 0;
    KEEP_LOOP for (uint i = 0; i < GROUP_KEYS; i++) {
        bool unmasked = true;
        if (documents) {
            uint existing = min(key + i, masks.last_key);
            unmasked = masks.is_position && Word(add64(masks.documents, uvec2(existing * 4, 0))).value == masks.document;
        }
        if (HAS_BLOCK_MASK) {
            unmasked = unmasked && isOpen(openBlocks(row, min(key + i, masks.last_key)), key + i, key + i);
        }
        flags |= unmasked ? 1u << i * FLAG_BITS + FLAG_BITS - 1 : 0;
    }
    return flags;
}

// Flags of the keys of a group that the masks leave for a row.
//     x   unmasked keys inside the row's visible range
//     y   the keys of x and all keys outside the visible range
uvec2 rowFlags(const uint index, const uint key, const bool documents) {
    uint row = queryRowOf(index);
    RowMasks masks = rowMasks(item, queryHeadOf(index), row);
    uint unmasked = MASK_BITS != 0 ? maskFlags(masks, key) : ALL_FLAGS;
    if (documents || HAS_BLOCK_MASK) {
        unmasked &= testedFlags(masks, row, key, documents);
    }
    if (FIRST_KEYS != 0) {
        ivec2 window = masks.window - int(key);
        unmasked &= flagsOf(0, int(masks.first_keys) - int(key)) | flagsOf(window.x, window.y);
    }
    ivec2 visible = visibleKeys(item, row) - int(key);
    uint in_range = flagsOf(visible.x, visible.y);
    return uvec2(unmasked & in_range, unmasked | ALL_FLAGS & ~in_range);
}

// Adds the rows lane, lane + ROW_LANES, ... to the flags of a group.
void addRows(const uint group, const uint key, const uint lane, const bool documents) {
    uvec2 flags = uvec2(0, ALL_FLAGS);
    for (uint first = lane; first < rows; first += ROWS_AT_ONCE * ROW_LANES) {
        uvec2 of_row[ROWS_AT_ONCE];
        UNROLL for (uint i = 0; i < ROWS_AT_ONCE; i++) {
            of_row[i] = rowFlags(min(first + i * ROW_LANES, rows - 1), key, documents);
        }
        UNROLL for (uint i = 0; i < ROWS_AT_ONCE; i++) {
            flags = uvec2(flags.x | of_row[i].x, flags.y & of_row[i].y);
        }
    }
    atomicOr(seen_flags[group], flags.x, OF_WORKGROUP);
    atomicAnd(unmasked_flags[group], flags.y, OF_WORKGROUP);
}

#endif
