// SPDX-License-Identifier: MIT
//
// What functions of the caller's own see: positions, the elements of arrays (functions/arrays.glsl), and tanh.
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

// What files of functions get as tanh, unless they declare that name. It takes few instructions beside a driver's tanh.
// The error is under 2^-21. A NaN stays a NaN. The reciprocal stands alone, because drivers have an instruction for it
// and not for other quotients.
float functionTanh(const float x) {
    return 1.0 - 2.0 * (1.0 / (exp2(x * 2.88539008) + 1.0)); // 2 / ln 2
}

vec2 functionTanh(const vec2 x) {
    return vec2(functionTanh(x.x), functionTanh(x.y));
}

vec3 functionTanh(const vec3 x) {
    return vec3(functionTanh(x.xy), functionTanh(x.z));
}

vec4 functionTanh(const vec4 x) {
    return vec4(functionTanh(x.xy), functionTanh(x.zw));
}

#endif
