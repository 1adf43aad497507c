// SPDX-License-Identifier: MIT
//
// Addresses of the rows of an attention call's tensors.
#ifndef VKF_ADDRESS_GLSL
#define VKF_ADDRESS_GLSL

#include "common/address64.glsl"

// index * stride in bytes. `stride` is stored shifted right by STRIDE_SHIFT bits.
uvec2 strideOffset(const uint index, const uint stride) {
    uvec2 offset = multiply64(index, stride);
    if (STRIDE_SHIFT == 0) {
        return offset;
    }
    return SHIFT64(offset, STRIDE_SHIFT);
}

// Address of row 0 of one head. `tensor` is the index in the stride arrays: VKF_Q, VKF_K, VKF_V, VKF_O, or another
// index of shared/attention_params.h.
uvec2 headAddress(const uvec2 base, const uint tensor, const uint batch, const uint head) {
    uvec2 address = add64(base, strideOffset(batch, params.batch_stride[tensor]));
    return add64(address, strideOffset(head, params.head_stride[tensor]));
}

// Address of the first row of a sequence, which may be packed: row first_row of the head then.
uvec2 headAddress(const uvec2 base, const uint tensor, const uint batch, const uint head, const uint first_row) {
    uvec2 address = headAddress(base, tensor, batch, head);
    return PACKED_SEQUENCES ? add64(address, multiply64(first_row, params.row_stride[tensor])) : address;
}

uvec2 rowAddress(const uvec2 head_address, const uint tensor, const uint row) {
    return add64(head_address, multiply64(row, params.row_stride[tensor]));
}

// Number of a row in the array [partial results, heads, rows].
uvec2 rowNumber(const Item item, const uint row) {
    uint heads = QUERY_HEADS;
    uvec2 head = multiply64(VKF_HEAD_NUMBER(item.partial_result, heads, item.head), params.query_rows);
    return add64(head, uvec2(PACKED_SEQUENCES ? item.first_row + row : row, 0));
}

#endif
