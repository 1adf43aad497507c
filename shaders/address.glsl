// SPDX-License-Identifier: MIT
//
// 64-bit addresses as uvec2 (low, high), so that no device needs shaderInt64.
#ifndef VKF_ADDRESS_GLSL
#define VKF_ADDRESS_GLSL

#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Word {
    uint value;
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Word2 {
    uvec2 value;
};
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Word4 {
    uvec4 value;
};

uvec2 add64(uvec2 a, uvec2 b) {
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

uvec2 multiply64(uint a, uint b) {
    uint low, high;
    umulExtended(a, b, high, low);
    return uvec2(low, high);
}

// index * stride, where the stride was stored shifted right by STRIDE_SHIFT bits.
uvec2 strideOffset(uint index, uint stride) {
    uvec2 offset = multiply64(index, stride);
    if (STRIDE_SHIFT == 0) {
        return offset;
    }
    return uvec2(offset.x << STRIDE_SHIFT,
                 (offset.y << STRIDE_SHIFT) | (offset.x >> (32 - STRIDE_SHIFT)));
}

// Address of row 0 of one head of tensor VKF_Q, VKF_K, VKF_V or VKF_O.
uvec2 headAddress(uvec2 base, uint tensor, uint batch, uint head) {
    uvec2 address = add64(base, strideOffset(batch, params.batch_stride[tensor]));
    return add64(address, strideOffset(head, params.head_stride[tensor]));
}

uvec2 rowAddress(uvec2 head_address, uint tensor, uint row) {
    return add64(head_address, multiply64(row, params.row_stride[tensor]));
}

// Number of a row among those of all parts, [part, heads, rows].
uvec2 rowNumber(Item item, uint row) {
    uint heads = params.heads & 0xffffu;
    return add64(multiply64(item.part * heads + item.head, params.query_rows), uvec2(row, 0));
}

#endif
