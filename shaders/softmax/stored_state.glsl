// SPDX-License-Identifier: MIT
//
// (m, l) of query rows in scratch memory, between the passes of a path. Dense fp32 pairs [batch, heads, rows].
#ifndef VKF_STORED_STATE_GLSL
#define VKF_STORED_STATE_GLSL

uvec2 rowStateAddress(const uvec2 base, const Item item, const uint row) {
    uvec2 number = rowNumber(item, row);
    return add64(base, SHIFT64(number, 3));
}

vec2 loadRowState(const uvec2 base, const Item item, const uint row) {
    return uintBitsToFloat(Word2(rowStateAddress(base, item, row)).value);
}

void storeRowState(const uvec2 base, const Item item, const uint row, const float m, const float l) {
    Word2(rowStateAddress(base, item, row)).value = floatBitsToUint(vec2(m, l));
}

#endif
