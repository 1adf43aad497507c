// SPDX-License-Identifier: MIT
//
// What the caller's functions need of the kernel: where a row stands, and the elements of arrays.
#ifndef VKF_ARRAYS_GLSL
#define VKF_ARRAYS_GLSL

// A query row at the first key. A row past the last one is the last one.
Position rowPosition(const Item item, const uint head, const uint row) {
    int rows = int(SEQUENCE_ROWS(item));
    int own_row = min(int(row), rows - 1);
    return Position(int(item.batch), int(head), int(head / KV_HEAD_QUERY_HEADS), own_row + item.offset, 0, rows,
                    int(item.keys));
}

layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer FunctionArraysAt {
    FunctionArrays before_table;
};

uvec2 functionArray(const uint array) {
    const uint bytes = VKF_FUNCTION_ARRAYS * 8;
    uvec2 table = add64(optionalInputs(), uvec2(0u - bytes, 0xffffffffu));
    return FunctionArraysAt(table).before_table.arrays[array];
}

// The word of 4 bytes that holds element i of an array; an element has 2^log_bits bits.
uint functionWord(const uint array, const int i, const uint log_bits) {
    return Word(add64(functionArray(array), multiply64(uint(i) >> (5 - log_bits), 4))).value;
}

float functionF32(const uint array, const int i) {
    return uintBitsToFloat(functionWord(array, i, 5));
}

float functionF16(const uint array, const int i) {
    return unpackHalf2x16(functionWord(array, i, 4) >> ((i & 1) * 16)).x;
}

float functionBf16(const uint array, const int i) {
    return uintBitsToFloat(functionWord(array, i, 4) >> ((i & 1) * 16) << 16);
}

int functionI32(const uint array, const int i) {
    return int(functionWord(array, i, 5));
}

int functionU8(const uint array, const int i) {
    return int(functionWord(array, i, 3) >> ((i & 3) * 8) & 0xffu);
}

#endif
