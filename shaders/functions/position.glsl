// SPDX-License-Identifier: MIT
//
// What functions of the caller's own see: positions, and the elements of arrays (functions/arrays.glsl).
#ifndef VKF_POSITION_GLSL
#define VKF_POSITION_GLSL

// A pair of a query row and a key. Row and key are positions among the keys of the sequence, as causal masks count
// them.
struct Position {
    int batch; // sequence
    int head;  // query head
    int kvHead;
    int row;  // with bottom-right alignment: number of the row + keys - rows
    int key;  // number of the key
    int rows; // of the sequence
    int keys;
};

// Elements of the caller's arrays.
float functionF32(const uint array, const int i);
float functionF16(const uint array, const int i);
float functionBf16(const uint array, const int i);
int functionI32(const uint array, const int i);
int functionU8(const uint array, const int i);

#endif
