// SPDX-License-Identifier: MIT
//
#ifndef VKF_DECODE_BLOCK_COLUMNS_GLSL
#define VKF_DECODE_BLOCK_COLUMNS_GLSL

// Column of a row that a byte of a chunk, as it stands in registers, has a code of.
uint columnOf(const uint chunk, const uint byte, const bool high, const Dealt dealt) {
    const uint bytes = dealt.words * 4;
    const uint in_chunk = (byte + bytes - rotationOf(chunk, dealt)) % bytes;
    return chunk / dealt.shares * VKF_BLOCK_ELEMENTS + chunk % dealt.shares * bytes + in_chunk + (high ? 16 : 0);
}

// Of element 0 to 7 of a word of this lane's part of k.
uint keyColumn(const uint word, const uint element) {
    const bool q8_0 = TYPE_K == VKF_STORED_Q8_0;
    const uint byte = (element & 1) << 1 | (q8_0 ? (element & 4) | (element >> 1 & 1) : element >> 2);
    return columnOf(keyChunk(word / K_EIGHTS), word % K_EIGHTS * (q8_0 ? 8 : 4) + byte,
                    !q8_0 && (element & 2) != 0, K_DEALT);
}

// The same of v, of the part that lane `part` of those that share a row has. Elements 2i and 2i + 1 are neighbours.
uint valueColumn(const uint part, const uint word, const uint element) {
    const bool q8_0 = TYPE_V == VKF_STORED_Q8_0;
    const uint byte = q8_0 ? element : (element & 1) | element >> 2 << 1;
    return columnOf(word / V_EIGHTS * ROW_LANES + part, word % V_EIGHTS * (q8_0 ? 8 : 4) + byte,
                    !q8_0 && (element & 2) != 0, V_DEALT);
}

#endif
