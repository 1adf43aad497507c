// SPDX-License-Identifier: MIT
//
// Keys in pages that a block table lists (cache/paging.glsl), and keys whose entry of the table is no page: they are
// absent (cache/absent_pages.glsl). Plain functions, so tests compile them for the host.
#ifndef VKF_WGMMA_PAGES_HPP
#define VKF_WGMMA_PAGES_HPP

#include "wgmma/item.hpp"

namespace vkf::wgmma {

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
