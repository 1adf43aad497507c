// SPDX-License-Identifier: MIT
//
// Keys whose entry of the block table is no page (cache/paging.glsl). A workgroup looks at the entries of its keys
// once, before it walks over tiles. If all are pages, which is the usual case, its full tiles stay full, and no tile
// looks at an entry again for a mask.
#ifndef VKF_ABSENT_PAGES_GLSL
#define VKF_ABSENT_PAGES_GLSL

#include "cache/paging.glsl"
#include "common/chosen_keys.glsl"

bool some_absent = false; // some key that the workgroup may visit is absent; all invocations have the same value
shared uint absent_pages; // not 0: an invocation found such a key

// Entries that an invocation loads at once. One load after the other cost 10 us of 92 with 4096 entries on an H200.
const uint ENTRIES_AT_ONCE = 8;

// Sets some_absent for keys [begin, end), or for entries of the list of chosen keys. All invocations call it.
void lookForAbsentPages(const Item item, const uint thread, const uint begin, const uint end) {
    if (!HAS_PAGES) {
        return;
    }
    if (thread == 0) {
        absent_pages = 0u;
    }
    barrier();
    const uint page_keys = HAS_CHOSEN_KEYS ? 1 : PAGE;
    const uint entries = VKF_TILES(end, page_keys);
    uint largest_entry = 0;
    KEEP_LOOP for (uint first = begin / page_keys + thread; first < entries;
                   first += ENTRIES_AT_ONCE * WORKGROUP_SIZE) {
        UNROLL for (uint i = 0; i < ENTRIES_AT_ONCE; i++) {
            uint number = min(first + i * WORKGROUP_SIZE, entries - 1);
            uint key = HAS_CHOSEN_KEYS ? keyOfEntry(listEntry(number, list_end)) : number * page_keys;
            largest_entry = max(largest_entry, tableEntry(item.batch, key));
        }
    }
    if (!IS_PAGE(largest_entry)) {
        VKF_SET_SHARED_FLAG(absent_pages, 1u);
    }
    barrier();
    some_absent = UNIFORM_BY_VOTE(absent_pages != 0u);
}

// Whether a key may be seen, as far as its page says. Past the end of the sequence the result has no meaning.
bool mayBeSeen(const Item item, const uint key) {
    return !HAS_PAGES || !some_absent || IS_PAGE(tableEntry(item.batch, min(key, item.keys - 1)));
}

#endif
