// SPDX-License-Identifier: MIT
//
// Rows of a bias or a mask, logically [batch, heads, rows, keys]. Dimensions may repeat. Strides are 64-bit numbers.
// Elements have 1, 8, 16 or 32 bits. The shader reads words of 4 bytes and takes elements out of them, so that no
// device needs narrower loads.
#ifndef VKF_BROADCAST_ROWS_GLSL
#define VKF_BROADCAST_ROWS_GLSL

layout(constant_id = VKF_ID_BROADCAST_REPEATS) const bool REPEATS = false;

struct BroadcastRow {
    uvec2 address; // of the word in which the row begins
    uint first;    // element of that word in which the row begins
};

// Strides are in bits; an element has 2^log_bits bits. `repeats` are the numbers of sequences and heads of the array.
BroadcastRow broadcastRow(const uvec2 base, const uvec2 stride[3], const uint repeats[2], const uint batch,
                          const uint head, const uint row, const uint log_bits) {
    uint own_batch = REPEATS ? batch % repeats[0] : batch;
    uint own_head = REPEATS ? head % repeats[1] : head;
    uvec2 bit = add64(multiply64(own_batch, stride[0]), multiply64(own_head, stride[1]));
    bit = add64(bit, multiply64(row, stride[2]));
    uvec2 bytes = uvec2(((bit.x >> 3) | (bit.y << 29)) & ~3u, bit.y >> 3);
    return BroadcastRow(add64(base, bytes), (bit.x & 31u) >> log_bits);
}

// The element of a key, in the low bits of the result. Higher bits have no meaning.
uint broadcastBits(const BroadcastRow row, const uint key, const uint log_bits) {
    uint element = row.first + key;
    uint word = Word(add64(row.address, uvec2((element >> (5 - log_bits)) << 2, 0))).value;
    return word >> ((element << log_bits) & 31u);
}

#endif
