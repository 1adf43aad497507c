// SPDX-License-Identifier: MIT
//
// What a workgroup computes: its work item, the keys that a row sees, the order in which the workgroup walks over tiles
// of keys, and where keys lie. The arithmetic is that of common/item.glsl, masks/mask.glsl, coopmat/tile_walk.glsl and
// cache/paging.glsl, for the features that the wgmma kernels have. These are plain functions, so tests compile them for
// the host.
#ifndef VKF_WGMMA_ITEM_HPP
#define VKF_WGMMA_ITEM_HPP

#include "shared/call_table.h"
#include "shared/constant_ids.h"
#include "shared/stored_types.h"
#include "shared/wgmma_params.h"
#include "wgmma/device.hpp"

namespace vkf::wgmma {

using shared::Address;
using shared::AttentionParams;
using shared::CallTable;
using shared::Int;
using shared::Uint;
using shared::WgmmaConstants;

// The parameters of a launch.
struct Call {
    const AttentionParams& params;
    const WgmmaConstants& constants;
};

// Half-open: [begin, end).
struct Range {
    Int begin;
    Int end;
};

// The tile of rows, head, sequence and key split of a workgroup. `Item` of common/params.glsl explains the members.
// `some_absent`: some key that the workgroup may visit is absent.
struct Item {
    Uint batch;
    Uint head;
    Uint kv_head;
    Uint split;
    Uint partial_result;
    Uint row_begin;
    Uint rows;
    Uint keys;
    Int offset;
    Uint first_row;
    Uint first_key;
    bool some_absent = false;
};

VKF_DEVICE bool hasPages(const Call call) { return call.constants.page_rows != 0; }

VKF_DEVICE Uint queryHeads(const Call call) { return call.params.heads & 0xffffu; }

// Optional inputs.

VKF_DEVICE Address optionalInputs(const Call call) {
    return static_cast<Uint>(call.params.extra_slot_low) |
           static_cast<Address>(static_cast<Uint>(call.params.extra_slot_high)) << 32;
}

// A member of the call table.
template <typename T> VKF_DEVICE T tableMember(const Call call, const size_t offset) {
    return loadGlobal<T>(optionalInputs(call) + offset);
}

// The address of the optional input at `offset` in the call table. The input may be the only one.
VKF_DEVICE Address optionalInput(const Call call, const size_t offset) {
    return call.constants.extra_slot == VKF_EXTRA_SLOT_HAS_TABLE ? tableMember<Address>(call, offset)
                                                                 : optionalInputs(call);
}

// Packed rows.

// One head is the usual case and needs no division.
VKF_DEVICE Uint queryRow(const Call call, const Uint packed_row) {
    return call.constants.packed_heads == 1 ? packed_row : packed_row / call.constants.packed_heads;
}

// The head of a packed row, counted from the first head of the item.
VKF_DEVICE Uint headOfRow(const Call call, const Uint packed_row) {
    return call.constants.packed_heads == 1 ? 0 : packed_row % call.constants.packed_heads;
}

VKF_DEVICE Uint packedRows(const Call call, const Item& item) {
    return VKF_PACKED_ROWS(item.rows, call.constants.packed_heads);
}

// The item.

VKF_DEVICE Uint keysOf(const Call call, const Uint batch) {
    if (!call.constants.key_lengths) {
        return call.params.keys;
    }
    const Int length = loadGlobal<Int>(call.params.key_lengths + Address{batch} * 4);
    return static_cast<Uint>(clamp(length, Int{0}, static_cast<Int>(call.params.keys)));
}

// The rows or keys of a sequence, clamped to `count`, the number in all sequences.
VKF_DEVICE Range boundsOf(const Address starts, const Uint sequence, const Uint count) {
    const Int limit = static_cast<Int>(count);
    const Int begin = clamp(loadGlobal<Int>(starts + Address{sequence} * 4), Int{0}, limit);
    const Int end = clamp(loadGlobal<Int>(starts + Address{sequence} * 4 + 4), begin, limit);
    return {begin, end};
}

// Packed sequences: sets rows, keys, first_row and first_key. With pages, only rows are packed.
VKF_DEVICE void setSequence(const Call call, Item& item) {
    const Range rows =
        boundsOf(tableMember<Address>(call, offsetof(CallTable, row_starts)), item.batch, call.params.query_rows);
    item.first_row = static_cast<Uint>(rows.begin);
    item.rows =
        min(static_cast<Uint>(rows.end - rows.begin), tableMember<Uint>(call, offsetof(CallTable, longest_rows)));
    item.first_key = 0;
    item.keys = min(keysOf(call, item.batch), tableMember<Uint>(call, offsetof(CallTable, longest_keys)));
    if (!hasPages(call)) {
        const Range keys =
            boundsOf(tableMember<Address>(call, offsetof(CallTable, key_starts)), item.batch, call.params.keys);
        item.first_key = static_cast<Uint>(keys.begin);
        item.keys = min(item.keys, static_cast<Uint>(keys.end - keys.begin));
    }
}

// The item of a number. `tile_rows` are the packed rows of a workgroup.
VKF_DEVICE Item itemOf(const Call call, const Uint tile_rows, const Uint number) {
    const Uint packed_heads = call.constants.packed_heads;
    const Uint interleaved = call.constants.interleaved_heads;
    const Uint splits = call.constants.key_splits;
    const bool packed_sequences = call.constants.packed_sequences;
    const Uint heads = packed_heads == 1 ? queryHeads(call) : queryHeads(call) / packed_heads;
    Uint row_tiles = packed_sequences ? tableMember<Uint>(call, offsetof(CallTable, tile_count))
                                      : VKF_TILES(VKF_PACKED_ROWS(call.params.query_rows, packed_heads), tile_rows);
    const Uint head_set = VKF_ITEM_HEAD_SET(number, row_tiles, interleaved);
    const Uint in_set = VKF_ITEM_IN_SET(number, head_set, row_tiles, interleaved);
    Uint tile = VKF_ITEM_TILE(in_set, interleaved);
    const Uint sequence_head = VKF_ITEM_HEAD(head_set, in_set, interleaved);

    Item item;
    item.partial_result = sequence_head / heads;
    item.head = (sequence_head - item.partial_result * heads) * packed_heads;
    item.kv_head = item.head / (packed_heads > 1 ? packed_heads : call.params.heads >> 16);
    if (packed_sequences) {
        item.split = item.partial_result;
        item.batch =
            loadGlobal<Uint>(tableMember<Address>(call, offsetof(CallTable, tile_sequences)) + Address{tile} * 4);
        setSequence(call, item);
        row_tiles = VKF_TILES(packedRows(call, item), tile_rows);
        tile -= VKF_FIRST_SEQUENCE_TILE(item.first_row, packed_heads, tile_rows, item.batch);
        tile = min(tile, row_tiles);
    } else {
        item.batch = splits == 1 ? item.partial_result : item.partial_result / splits;
        item.split = item.partial_result - item.batch * splits;
        item.rows = call.params.query_rows;
        item.keys = keysOf(call, item.batch);
        item.first_row = 0;
        item.first_key = 0;
    }
    item.row_begin = VKF_ROW_BEGIN(call.constants.window, row_tiles, tile, tile_rows);
    item.offset = call.constants.top_left ? 0 : static_cast<Int>(item.keys) - static_cast<Int>(item.rows);
    return item;
}

// Whether the item is a tile of packed sequences without rows. There is nothing to do then.
VKF_DEVICE bool isIdle(const Call call, const Item& item) {
    return call.constants.packed_sequences && item.row_begin >= packedRows(call, item);
}

// Keys of rows.

// Keys of the row's window. Without a window: all keys of the sequence. Neither end moves to the left from one row to
// the next. The range may be empty, with end < begin.
VKF_DEVICE Range windowKeys(const Call call, const Item& item, const Uint row) {
    const Int keys = static_cast<Int>(item.keys);
    if (!call.constants.window) {
        return {0, keys};
    }
    const bool in_slot = call.constants.extra_slot == VKF_EXTRA_SLOT_HAS_WINDOW;
    const Int left = in_slot ? call.params.extra_slot_low : call.constants.window_left;
    const Int right = in_slot ? call.params.extra_slot_high : call.constants.window_right;
    const Int diagonal = static_cast<Int>(row) + item.offset;
    return {max(VKF_WINDOW_BEGIN(diagonal, left), 0), min(VKF_WINDOW_END(diagonal, right), keys)};
}

// Number of first keys that a row sees in addition to its window. It never falls from one row to the next.
VKF_DEVICE Int firstKeysOf(const Call call, const Item& item, const Uint row) {
    const Int keys = static_cast<Int>(item.keys);
    const Int most = call.constants.first_keys_causal ? static_cast<Int>(row) + item.offset + 1 : keys;
    return clamp(min(most, keys), Int{0}, static_cast<Int>(call.constants.first_keys));
}

// The keys that a row sees: keys [0, first) and the window.
struct VisibleKeys {
    Int first;
    Range window;
};

VKF_DEVICE VisibleKeys visibleKeys(const Call call, const Item& item, const Uint row) {
    return {call.constants.first_keys == 0 ? 0 : firstKeysOf(call, item, row), windowKeys(call, item, row)};
}

VKF_DEVICE bool isVisible(const VisibleKeys& visible, const Int key) {
    return key < visible.first || (key >= visible.window.begin && key < visible.window.end);
}

// What the first and the last row of the item's tile see.
struct EndRows {
    VisibleKeys first;
    VisibleKeys last;
};

VKF_DEVICE EndRows endRows(const Call call, const Item& item, const Uint tile_rows) {
    const Uint last_row = VKF_LAST_ROW(item.row_begin, tile_rows, packedRows(call, item));
    return {visibleKeys(call, item, queryRow(call, item.row_begin)), visibleKeys(call, item, queryRow(call, last_row))};
}

// Keys that some row of a tile of rows may see. `first` and `last` belong to the first and the last row.
VKF_DEVICE VisibleKeys keysOfAny(const VisibleKeys& first, const VisibleKeys& last) {
    return {last.first, {first.window.begin, last.window.end}};
}

// Keys that every row of the tile sees.
VKF_DEVICE VisibleKeys keysOfAll(const VisibleKeys& first, const VisibleKeys& last) {
    return {first.first, {last.window.begin, first.window.end}};
}

// Whether keys [begin, end) are all invisible.
VKF_DEVICE bool isEmpty(const VisibleKeys& any, const Int begin, const Int end) {
    return begin >= any.first && (begin >= any.window.end || end <= any.window.begin);
}

// The walk.

// The tiles of keys of a workgroup, by their numbers. Empty tiles are in no range. The walk takes the full tiles, then
// the partial tiles, each in the order of the members.
struct Walk {
    Uint first_full; // full tiles [0, first_full) of first keys
    Uint first_end;  // partial tiles [first_full, first_end) of first keys
    Uint begin;      // partial tiles [begin, full_begin)
    Uint full_begin; // full tiles [full_begin, full_end)
    Uint full_end;   // partial tiles [full_end, end)
    Uint end;        //
    Uint step;       // the share of the key split: positions [step, step_end) of the walk
    Uint step_end;   //
};

VKF_DEVICE Uint fullTiles(const Walk& walk) { return walk.first_full + (walk.full_end - walk.full_begin); }

VKF_DEVICE Uint tilesOf(const Walk& walk) { return walk.first_end + (walk.end - walk.begin); }

// The number of the tile at a position of the walk.
VKF_DEVICE Uint tileAt(const Walk& walk, const Uint position) {
    const Uint full = fullTiles(walk);
    if (position < full) {
        return position < walk.first_full ? position : position - walk.first_full + walk.full_begin;
    }
    Uint tile = walk.first_full + (position - full);
    tile += tile < walk.first_end ? 0 : walk.begin - walk.first_end;
    return tile < walk.begin || tile < walk.full_begin ? tile : tile + (walk.full_end - walk.full_begin);
}

// With absent keys no tile counts as full.
VKF_DEVICE Walk walkOf(const Call call, const Item& item, const Uint tile_rows, const Uint tile_keys) {
    const EndRows ends = endRows(call, item, tile_rows);
    const VisibleKeys any = keysOfAny(ends.first, ends.last);
    const VisibleKeys all = item.some_absent ? VisibleKeys{} : keysOfAll(ends.first, ends.last);
    Walk walk;
    walk.first_full = static_cast<Uint>(all.first) / tile_keys;
    walk.first_end = VKF_TILES(static_cast<Uint>(any.first), tile_keys);
    const Uint begin = static_cast<Uint>(any.window.begin);
    const Uint end = static_cast<Uint>(max(any.window.end, any.window.begin));
    walk.begin = max(begin / tile_keys, walk.first_end);
    walk.end = begin == end ? walk.begin : max(VKF_TILES(end, tile_keys), walk.begin);
    walk.full_begin = clamp(VKF_TILES(static_cast<Uint>(all.window.begin), tile_keys), walk.begin, walk.end);
    walk.full_end = clamp(static_cast<Uint>(max(all.window.end, Int{0})) / tile_keys, walk.full_begin, walk.end);
    const Uint splits = call.constants.key_splits;
    const Uint tiles = tilesOf(walk);
    walk.step = 0;
    walk.step_end = tiles;
    if (splits > 1) {
        walk.step = VKF_SHARE_BEGIN(tiles, splits, item.split);
        walk.step_end = walk.step + tiles / splits + (item.split < tiles % splits ? 1 : 0);
    }
    return walk;
}

// Addresses.

// Bytes from element 0 to element `index` of a stride that is stored shifted right.
VKF_DEVICE Address strideOffset(const Call call, const Uint index, const Uint stride) {
    return (Address{index} * stride) << call.constants.stride_shift;
}

// Row 0 of a head of a sequence.
VKF_DEVICE Address headAddress(const Call call, const Address base, const Uint tensor, const Uint batch,
                               const Uint head, const Uint first_row) {
    return base + strideOffset(call, batch, call.params.batch_stride[tensor]) +
           strideOffset(call, head, call.params.head_stride[tensor]) +
           Address{first_row} * call.params.row_stride[tensor];
}

// Number of a row in the array [partial results, heads, rows].
VKF_DEVICE Address rowNumber(const Call call, const Item& item, const Uint head, const Uint row) {
    return Address{VKF_HEAD_NUMBER(item.partial_result, queryHeads(call), head)} * call.params.query_rows +
           item.first_row + row;
}

// Keys in pages that a block table lists (cache/paging.glsl), and keys whose entry of the table is no page: they are
// absent (cache/absent_pages.glsl).

// The entries of the item's sequence.
VKF_DEVICE Address tableOf(const Call call, const Item& item) {
    return optionalInput(call, offsetof(CallTable, block_table)) + Address{item.batch} * call.constants.max_pages * 4;
}

VKF_DEVICE bool isPage(const Call call, const Uint entry) { return entry < call.constants.pages; }

// Where a key lies: the entry of its page, and its row there. The key must be before the sequence's end, because keys
// past it may have no entry.
struct KeyPlace {
    Uint entry;
    Uint row;
};

VKF_DEVICE KeyPlace placeOf(const Call call, const Address table, const Uint key) {
    const Uint number = key / call.constants.page_rows;
    return {loadGlobal<Uint>(table + Address{number} * 4), key - number * call.constants.page_rows};
}

// Row 0 of the item's KV head, for VKF_K or VKF_V: row 0 of the sequence, or row 0 of page 0 with pages.
VKF_DEVICE Address keyHeadAddress(const Call call, const Address base, const Uint tensor, const Item& item) {
    return headAddress(call, base, tensor, hasPages(call) ? 0 : item.batch, item.kv_head, item.first_key);
}

// From row 0 of page 0 to the row of a key, in words of 16 bytes. The host takes care that the number fits. An entry
// that is no page counts as the last page, so that no table makes the device read outside of k and v.
VKF_DEVICE Uint wordsTo(const Call call, const Uint tensor, const KeyPlace place) {
    const Uint page = min(place.entry, call.constants.pages - 1);
    const Address bytes = strideOffset(call, page, call.params.batch_stride[tensor]) +
                          Address{place.row} * call.params.row_stride[tensor];
    return static_cast<Uint>(bytes / 16);
}

// Entries that a thread loads at once.
constexpr Uint ENTRIES_AT_ONCE = 8;

// Whether a key that some row of the item's tile may see is absent, among the entries that are this thread's. Key
// splits do not count: all splits of the tile must order their walk in the same way.
VKF_DEVICE bool findsAbsentKey(const Call call, const Item& item, const Uint tile_rows, const Uint thread,
                               const Uint threads) {
    const EndRows ends = endRows(call, item, tile_rows);
    const VisibleKeys any = keysOfAny(ends.first, ends.last);
    const Uint begin = static_cast<Uint>(any.first > 0 ? 0 : any.window.begin);
    const Uint end = static_cast<Uint>(max(any.first, max(any.window.end, any.window.begin)));
    if (begin >= end) {
        return false;
    }
    const Uint last = (end - 1) / call.constants.page_rows;
    const Address table = tableOf(call, item);
    Uint largest = 0;
    VKF_KEEP_LOOP for (Uint first = begin / call.constants.page_rows + thread; first <= last;
                       first += ENTRIES_AT_ONCE * threads) {
        VKF_UNROLL for (Uint i = 0; i < ENTRIES_AT_ONCE; i++) {
            largest = max(largest, loadGlobal<Uint>(table + Address{min(first + i * threads, last)} * 4));
        }
    }
    return !isPage(call, largest);
}

} // namespace vkf::wgmma

#endif
