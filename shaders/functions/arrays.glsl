// SPDX-License-Identifier: MIT
//
// What the caller's functions need of the kernel: the pairs of a row, and the elements of arrays.
#ifndef VKF_ARRAYS_GLSL
#define VKF_ARRAYS_GLSL

// The pair of a query row and the first key. A row past the last one is the last one.
Position pairAtFirstKey(const Item item, const uint head, const uint row) {
    int rows = int(SEQUENCE_ROWS(item));
    int own_row = min(int(row), rows - 1);
    return Position(int(item.batch), int(head), int(head / KV_HEAD_QUERY_HEADS), own_row + item.offset, 0, rows,
                    int(item.keys));
}

layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer FunctionArraysAt {
    FunctionArrays before_table;
};

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer FunctionWord {
    uint value;
};

// Declares `word`: the 4 bytes that hold element i of an array whose elements have 2^log_bits bits. A macro, because
// the caller's functions stand deep in a kernel, and NVIDIA's compiler inlines only eight levels of calls: with
// functions here, attention over documents took 2.7 times as long (lab/log-0.4.md, "Functions that read arrays").
#define FIND_FUNCTION_WORD(word, array, i, log_bits)                                                                   \
    uint borrow, carry;                                                                                                \
    uvec2 at =                                                                                                         \
        uvec2(usubBorrow(uint(params.extra_slot_low), VKF_FUNCTION_ARRAYS * 8, borrow), params.extra_slot_high);       \
    at.y -= borrow;                                                                                                    \
    at = FunctionArraysAt(at).before_table.arrays[array];                                                              \
    uint index = uint(i) >> (5 - log_bits);                                                                            \
    at.x = uaddCarry(at.x, index << 2, carry);                                                                         \
    at.y += (index >> 30) + carry;                                                                                     \
    uint word = FunctionWord(at).value;

float functionF32(const uint array, const int i) {
    FIND_FUNCTION_WORD(word, array, i, 5)
    return uintBitsToFloat(word);
}

float functionF16(const uint array, const int i) {
    FIND_FUNCTION_WORD(word, array, i, 4)
    return unpackHalf2x16(word >> ((i & 1) * 16)).x;
}

float functionBf16(const uint array, const int i) {
    FIND_FUNCTION_WORD(word, array, i, 4)
    return uintBitsToFloat(word >> ((i & 1) * 16) << 16);
}

int functionI32(const uint array, const int i) {
    FIND_FUNCTION_WORD(word, array, i, 5)
    return int(word);
}

int functionU8(const uint array, const int i) {
    FIND_FUNCTION_WORD(word, array, i, 3)
    return int(word >> ((i & 3) * 8) & 0xffu);
}

#endif
