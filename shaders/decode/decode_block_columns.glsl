// SPDX-License-Identifier: MIT
//
// The depth of k, or the column of v, that an element of a word of a block type belongs to.
//
// Needs: decode/decode_blocks.glsl. Provides: keyColumn, valueColumn.
#ifndef VKF_DECODE_BLOCK_COLUMNS_GLSL
#define VKF_DECODE_BLOCK_COLUMNS_GLSL

// The column whose code is in a byte of a chunk. The byte counts as the chunk lies in registers, rotated.
uint columnOf(const uint chunk, const uint byte, const bool high, const Dealt dealt) {
    const uint bytes = dealt.words * 4;
    const uint in_chunk = (byte + bytes - rotationOf(chunk, dealt)) % bytes;
    return chunk / dealt.shares * VKF_BLOCK_ELEMENTS + chunk % dealt.shares * bytes + in_chunk + (high ? 16 : 0);
}

// The depth of element 0 to 7 of a word of this lane's share of k.
uint keyColumn(const uint word, const uint element) {
    const bool q8_0 = TYPE_K == VKF_STORED_Q8_0;
    const uint byte = (element & 1) << 1 | (q8_0 ? (element & 4) | (element >> 1 & 1) : element >> 2);
    return columnOf(keyChunk(word / K_EIGHTS), word % K_EIGHTS * (q8_0 ? 8 : 4) + byte,
                    !q8_0 && (element & 2) != 0, K_DEALT);
}

// The column of element 0 to 7 of a word of v. `row_lane` is the number of a lane among the lanes that share a row.
// Elements 2i and 2i + 1 are neighbours.
uint valueColumn(const uint row_lane, const uint word, const uint element) {
    const bool q8_0 = TYPE_V == VKF_STORED_Q8_0;
    const uint byte = q8_0 ? element : (element & 1) | element >> 2 << 1;
    return columnOf(word / V_EIGHTS * ROW_LANES + row_lane, word % V_EIGHTS * (q8_0 ? 8 : 4) + byte,
                    !q8_0 && (element & 2) != 0, V_DEALT);
}

#endif
