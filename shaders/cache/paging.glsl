// SPDX-License-Identifier: MIT
//
// Where the keys of a sequence lie: one row after the other, or in pages that the block table lists. A kernel can look
// up the page of a key once, and use it for all columns of k and v.
#ifndef VKF_PAGING_GLSL
#define VKF_PAGING_GLSL

#include "common/item.glsl"

layout(constant_id = VKF_ID_MAX_PAGES) const uint MAX_PAGES = 1; // entries of the block table for a sequence
layout(constant_id = VKF_ID_PAGES) const uint PAGES = 1;         // that k and v have

const uint PAGE = HAS_PAGES ? PAGE_ROWS : 1; // never a divisor of 0

// Computed once, before all branches. llvmpipe was seen to read a table through its address in a branch that no
// invocation takes.
uvec2 block_table = HAS_PAGES ? VKF_TABLE_ADDRESS(block_table) : uvec2(0);

// The entry of the block table for a key of the sequence; 0 without pages. The key must be before the sequence's end:
// keys past it may have no entry.
//
// A key whose entry is not a page is absent: no row sees it. For its loads such an entry counts as the last page, so
// that no table makes the device read outside of k and v. goToPage moves the address of a head to a page, and counts a
// key from there.
#ifdef VKF_PAGES
uint tableEntry(const uint batch, const uint key) {
    if (!HAS_PAGES) {
        return 0;
    }
    uvec2 of_sequence = add64(block_table, multiply64(batch, MAX_PAGES * 4));
    return Word(add64(of_sequence, uvec2(key / PAGE * 4, 0))).value;
}
#define IS_PAGE(entry) (!HAS_PAGES || (entry) < PAGES)
#define goToPage(head_address, tensor, entry, key)                                                                     \
    if (PAGED) {                                                                                                       \
        head_address = add64(head_address, strideOffset(min(entry, PAGES - 1), params.batch_stride[tensor]));          \
        key %= PAGE;                                                                                                   \
    }
#else
uint tableEntry(const uint batch, const uint key) {
    return 0;
}
#define IS_PAGE(entry) true
#define goToPage(head_address, tensor, entry, key)
#endif

// The entry for the address of a key; 0 if k and v do not lie in pages. It is a macro because chains of calls must be
// short (docs/kernel_rules.md, "Chains of calls").
#define pageOf(batch, key) (PAGED ? tableEntry(batch, key) : 0)

// Address of row 0 of the item's KV head, for VKF_K or VKF_V: row 0 of the sequence, or row 0 of page 0 with pages.
uvec2 keyHeadAddress(const uvec2 base, const uint tensor, const Item item) {
    return headAddress(base, tensor, PAGED ? 0 : item.batch, item.kv_head, item.first_key);
}

// Address of the row of a key, from the address of its head and its page.
uvec2 keyAddress(uvec2 head_address, const uint tensor, const uint page, uint key) {
    goToPage(head_address, tensor, page, key);
    return rowAddress(head_address, tensor, key);
}

#endif
