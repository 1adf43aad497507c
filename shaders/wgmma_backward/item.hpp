// SPDX-License-Identifier: MIT
//
// What a workgroup of the backward pass computes. The arithmetic is that of backward/walk.glsl. A workgroup that owns
// rows has an item and a walk of the forward pass.
#ifndef VKF_WGMMA_BACKWARD_ITEM_HPP
#define VKF_WGMMA_BACKWARD_ITEM_HPP

#include "shared/backward_params.h"
#include "wgmma/item.hpp"

namespace vkf::wgmma {

using shared::BackwardTable;
using shared::BackwardTensor;

// The item of a workgroup that owns keys. `head` is the first query head of the KV head.
struct KeyItem {
    Item item;
    Uint key_begin;
    Uint stored_keys; // keys of the sequence in the tensors; key lengths do not shorten them
    Uint heads;       // query heads of the KV head
};

// Packed sequences: the sequence of a tile of rows or keys (VKF_FIRST_SEQUENCE_TILE). The lists of tiles in scratch
// memory have the tiles of path coopmat, so the kernels search.
VKF_DEVICE Uint sequenceOfTile(const Call call, const size_t starts, const Uint count, const Uint tile_rows,
                               const Uint tile) {
    const Address first = tableMember<Address>(call, starts);
    Uint begin = 0;
    Uint end = tableMember<Uint>(call, offsetof(BackwardTable, call.sequences));
    VKF_KEEP_LOOP while (end - begin > 1) { // the sequence is in [begin, end)
        const Uint middle = begin + (end - begin) / 2;
        const Uint start = static_cast<Uint>(boundsOf(first, middle, count).begin);
        if (VKF_FIRST_SEQUENCE_TILE(start, 1, tile_rows, middle) <= tile) {
            begin = middle;
        } else {
            end = middle;
        }
    }
    return begin;
}

// Number of all tiles of rows or keys of a head.
VKF_DEVICE Uint tilesOfAll(const Call call, const Uint count, const Uint tile_rows) {
    return call.constants.packed_sequences
               ? VKF_FIRST_SEQUENCE_TILE(count, 1, tile_rows,
                                         tableMember<Uint>(call, offsetof(BackwardTable, call.sequences)))
               : VKF_TILES(count, tile_rows);
}

// The item of a sequence, without head and tile.
VKF_DEVICE Item itemOfSequence(const Call call, const Uint sequence) {
    Item item;
    item.batch = sequence;
    item.partial_result = call.constants.packed_sequences ? 0 : sequence;
    item.split = 0;
    item.row_begin = 0;
    if (call.constants.packed_sequences) {
        setSequence(call, item);
    } else {
        item.rows = call.params.query_rows;
        item.keys = keysOf(call, sequence);
        item.first_row = 0;
        item.first_key = 0;
    }
    item.offset = call.constants.top_left ? 0 : static_cast<Int>(item.keys) - static_cast<Int>(item.rows);
    return item;
}

// Work items count tiles of rows fastest, then heads, then sequences. Under a window tiles count backwards, so that
// long ones come first.
VKF_DEVICE Item rowItemOf(const Call call, const Uint tile_rows, const Uint number) {
    const Uint heads = queryHeads(call);
    const Uint tiles = tilesOfAll(call, call.params.query_rows, tile_rows);
    const Uint sequence_head = number / tiles;
    Uint tile = number - sequence_head * tiles;
    const bool packed_sequences = call.constants.packed_sequences;
    const Uint sequence = packed_sequences ? sequenceOfTile(call, offsetof(BackwardTable, call.row_starts),
                                                            call.params.query_rows, tile_rows, tile)
                                           : sequence_head / heads;
    Item item = itemOfSequence(call, sequence);
    item.head = sequence_head % heads;
    item.kv_head = item.head / (call.params.heads >> 16);
    const Uint row_tiles = VKF_TILES(item.rows, tile_rows);
    if (packed_sequences) {
        tile = min(tile - VKF_FIRST_SEQUENCE_TILE(item.first_row, 1, tile_rows, sequence), row_tiles);
    }
    // An idle tile stays behind the last row.
    item.row_begin =
        tile < row_tiles ? VKF_ROW_BEGIN(call.constants.window, row_tiles, tile, tile_rows) : row_tiles * tile_rows;
    return item;
}

// Work items count tiles of keys fastest, then KV heads, then sequences.
VKF_DEVICE KeyItem keyItemOf(const Call call, const Uint tile_keys, const Uint number) {
    const bool packed_sequences = call.constants.packed_sequences;
    const Uint kv_heads = tableMember<Uint>(call, offsetof(BackwardTable, kv_heads));
    const Uint tiles = tilesOfAll(call, call.params.keys, tile_keys);
    const Uint sequence_head = number / tiles;
    Uint tile = number - sequence_head * tiles;
    const Uint sequence = packed_sequences ? sequenceOfTile(call, offsetof(BackwardTable, call.key_starts),
                                                            call.params.keys, tile_keys, tile)
                                           : sequence_head / kv_heads;
    KeyItem own;
    own.item = itemOfSequence(call, sequence);
    own.stored_keys = call.params.keys;
    if (packed_sequences) {
        const Range keys =
            boundsOf(tableMember<Address>(call, offsetof(BackwardTable, call.key_starts)), sequence, call.params.keys);
        own.stored_keys = static_cast<Uint>(keys.end - keys.begin);
        tile -= VKF_FIRST_SEQUENCE_TILE(own.item.first_key, 1, tile_keys, sequence);
    }
    own.heads = call.params.heads >> 16;
    own.item.kv_head = sequence_head % kv_heads;
    own.item.head = own.item.kv_head * own.heads;
    own.key_begin = tile * tile_keys;
    return own;
}

// The reach of the window stands in the constants, because the extra slot has the address of the table.

// Rows that see one of the keys [first, last].
VKF_DEVICE Range rowsThatSee(const Call call, const Item & item, const Int first, const Int last) {
    const Int rows = static_cast<Int>(item.rows);
    if (!call.constants.window) {
        return {0, rows};
    }
    return {max(VKF_SEEING_BEGIN(first, item.offset, call.constants.window_right), Int{0}),
            min(VKF_SEEING_END(last + 1, item.offset, call.constants.window_left), rows)};
}

// The tiles of rows that a workgroup visits for each query head, by their numbers.
struct RowWalk {
    Uint begin;      // partial tiles [begin, full_begin)
    Uint full_begin; // full tiles [full_begin, full_end): each of the rows sees all owned keys
    Uint full_end;   // partial tiles [full_end, end)
    Uint end;
    Uint heads;
};

VKF_DEVICE Uint fullTiles(const RowWalk & walk) {
    return walk.full_end - walk.full_begin;
}
VKF_DEVICE Uint partialTiles(const RowWalk & walk) {
    return walk.full_begin - walk.begin + walk.end - walk.full_end;
}
VKF_DEVICE Uint tilesOf(const RowWalk & walk) {
    return walk.end - walk.begin;
}

VKF_DEVICE RowWalk rowWalkOf(const Call call, const KeyItem & own, const Uint tile_keys, const Uint tile_rows) {
    const Item & item = own.item;
    RowWalk walk{0, 0, 0, 0, own.heads};
    if (own.key_begin >= item.keys) {
        return walk;
    }
    const Int first = static_cast<Int>(own.key_begin);
    const Int last = static_cast<Int>(min(own.key_begin + tile_keys, item.keys)) - 1;
    const Range any = rowsThatSee(call, item, first, last);
    const Range all{rowsThatSee(call, item, last, last).begin, rowsThatSee(call, item, first, first).end};
    if (any.begin >= any.end) {
        return walk;
    }
    walk.begin = static_cast<Uint>(any.begin) / tile_rows;
    walk.end = VKF_TILES(static_cast<Uint>(any.end), tile_rows);
    walk.full_begin = clamp(VKF_TILES(static_cast<Uint>(all.begin), tile_rows), walk.begin, walk.end);
    // Rows past the last one add nothing, so they do not make a tile partial.
    const bool to_the_end = all.end >= static_cast<Int>(item.rows);
    const Uint full_end = to_the_end ? walk.end : static_cast<Uint>(max(all.end, Int{0})) / tile_rows;
    walk.full_end = clamp(full_end, walk.full_begin, walk.end);
    return walk;
}

// A place in the walk: first the full tiles of all heads, then the partial tiles of all heads.
struct RowCursor {
    Uint head; // counted from the first query head of the KV head
    Uint tile;
    bool partial;
};

VKF_DEVICE Uint firstPartial(const RowWalk & walk) {
    return walk.begin == walk.full_begin ? walk.full_end : walk.begin;
}

VKF_DEVICE RowCursor partialCursor(const RowWalk & walk) {
    return {0, firstPartial(walk), true};
}

VKF_DEVICE RowCursor firstOf(const RowWalk & walk) {
    return fullTiles(walk) == 0 ? partialCursor(walk) : RowCursor{0, walk.full_begin, false};
}

VKF_DEVICE void advance(const RowWalk & walk, RowCursor & cursor) {
    cursor.tile++;
    if (!cursor.partial) {
        if (cursor.tile == walk.full_end) {
            cursor.tile = walk.full_begin;
            cursor.head++;
            if (cursor.head == walk.heads) {
                cursor = partialCursor(walk);
            }
        }
        return;
    }
    if (cursor.tile == walk.full_begin) {
        cursor.tile = walk.full_end;
    }
    if (cursor.tile == walk.end) {
        cursor.tile = firstPartial(walk);
        cursor.head++;
    }
}

// A place in the walk of a workgroup that owns rows.
struct KeyCursor {
    Uint head; // always 0
    Uint tile;
    Uint position;
};
VKF_DEVICE KeyCursor firstOf(const Walk & walk) {
    return {0, tileAt(walk, 0), 0};
}
VKF_DEVICE void advance(const Walk & walk, KeyCursor & cursor) {
    cursor.position++;
    cursor.tile = tileAt(walk, cursor.position);
}

// The state of row 0 of a query head (shared/backward_params.h).
VKF_DEVICE Address statesOf(const Call call, const Item & item, const Uint head) {
    return tableMember<Address>(call, offsetof(BackwardTable, row_state)) + rowNumber(call, item, head, 0) * 8;
}

} // namespace vkf::wgmma

#endif
