// SPDX-License-Identifier: MIT
//
// Lists of chosen keys. A kernel walks over the entries of its tile's list, and not over the keys of the sequence. A
// key number is then the index of an entry; the entry is the key. All rows of a tile have the same list.
#ifndef VKF_CHOSEN_KEYS_GLSL
#define VKF_CHOSEN_KEYS_GLSL

#include "common/item.glsl"

#define NO_KEY 0xffffffffu // no row sees it

uvec2 list_address; // of the tile's list
uint list_end;      // its entries; 0 if the sequence has no keys
uint last_key;      // of the sequence

// Address of the list of the item's tile. Dense lists that have no table leave out the dimensions that they do not
// have.
uvec2 listAddress(const Item item) {
    uint row = item.first_row + queryRow(item.row_begin);
    if (EXTRA_SLOT == VKF_EXTRA_SLOT_HAS_CHOSEN_KEYS) {
        uint list = (LIST_DIMENSIONS & VKF_LISTS_BY_SEQUENCE) != 0 ? item.batch : 0;
        list = (LIST_DIMENSIONS & VKF_LISTS_BY_HEAD) != 0 ? list * (QUERY_HEADS / KV_HEAD_QUERY_HEADS) + item.kv_head
                                                          : list;
        list = LISTS_BY_ROW ? list * params.query_rows + row : list;
        return add64(optionalInputs(), multiply64(list, CHOSEN_KEYS * 4));
    }
    CallTable table = CallTableAt(optionalInputs()).table;
    uvec2 address = add64(table.chosen_keys, multiply64(item.batch, table.list_stride[0]));
    address = add64(address, multiply64(item.kv_head, table.list_stride[1]));
    return LISTS_BY_ROW ? add64(address, multiply64(row, table.list_stride[2])) : address;
}

void beginList(const Item item) {
    if (HAS_CHOSEN_KEYS) {
        list_address = listAddress(item);
        list_end = item.keys == 0 ? 0 : CHOSEN_KEYS;
        last_key = item.keys - 1;
    }
}

// Entry number `number` of the list; NO_KEY from `end` on. Other entries may be no keys of the sequence: isVisible is
// false for them, too. The list must have entries.
uint listEntry(const uint number, const uint end) {
    uint entry = Word(add64(list_address, multiply64(min(number, end - 1), 4))).value;
    return number < end ? entry : NO_KEY;
}

// The key of an entry, or the last key of the sequence where the entry is no key, so that each load reads a key.
uint keyOfEntry(const uint entry) {
    return min(entry, last_key);
}

#endif
