// SPDX-License-Identifier: MIT
//
// Rows of 16-bit elements in device memory, read as words of eight elements. Where a row consists of whole words, a
// word is one load of 16 bytes.
#ifndef VKF_HALF_ROWS_GLSL
#define VKF_HALF_ROWS_GLSL

#include "cache/paging.glsl"

// One head of one sequence, in a 16-bit tensor, in an fp32 q, or in k or v of a block type.
struct HalfRows {
    uvec2 address; // address of row 0
    uint row_stride;
    uint count; // rows that exist
    uint batch;
};

// The item's head of a tensor: its KV head for VKF_K and VKF_V, else its query head.
HalfRows halfRowsOf(const uvec2 base, const uint tensor, const Item item, const uint count) {
    uvec2 address = tensor == VKF_K || tensor == VKF_V
                        ? keyHeadAddress(base, tensor, item)
                        : headAddress(base, tensor, item.batch, item.head, item.first_row);
    return HalfRows(address, params.row_stride[tensor], count, item.batch);
}

uvec2 halfRowAddress(const HalfRows rows, const uint row) {
    return add64(rows.address, multiply64(row, rows.row_stride));
}

#include "common/row_words.glsl"

// Eight elements from `column` on; zeros past the end of the row.
uvec4 gatherHalves(const uvec2 row_address, const uint column, const uint dim) {
    uvec4 word;
    UNROLL for (uint i = 0; i < 4; i++) {
        word[i] = halfAt(row_address, column + 2 * i, dim) | halfAt(row_address, column + 2 * i + 1, dim) << 16;
    }
    return word;
}

uvec4 halvesAt(const HalfRows rows, const uint row, const uint column, const uint dim) {
    if (row >= rows.count) {
        return uvec4(0);
    }
    return gatherHalves(halfRowAddress(rows, row), column, dim);
}

// The word at (row, column) of a head whose rows are whole words.
uvec4 wordAt(const HalfRows rows, const uint row, const uint column) {
    return Words(halfRowAddress(rows, row)).word[column / 8];
}

// The word at (row, column): one load with `whole_words`, else eight. The word is zeros where it does not exist. With
// whole words the function always loads a word that exists. So loads need no branches and are in flight together.
uvec4 wordOrZero(const HalfRows rows, const uint row, const uint column, const uint dim, const bool whole_words) {
    if (!whole_words) {
        return halvesAt(rows, row, column, dim);
    }
    uvec4 word = wordAt(rows, min(row, rows.count - 1), min(column, dim - 8));
    return row < rows.count && column < dim ? word : uvec4(0);
}

#endif
