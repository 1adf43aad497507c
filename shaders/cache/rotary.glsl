// SPDX-License-Identifier: MIT
//
// Angles of rotary embeddings. The unit is one turn, and an angle is a 64-bit fraction of a turn. Integer
// multiplication of position and frequency drops complete turns and keeps the rest exactly. A product in fp32 would
// lose the rest from some thousand positions on. This file computes cosine and sine itself, because Vulkan promises
// only an error of 2^-11 for the built-in functions.
//
// Needs: common/address64.glsl. Provides: frequency, cosineSine, multiplyHigh64.
#ifndef VKF_ROTARY_GLSL
#define VKF_ROTARY_GLSL

// Upper half of the product of two 64-bit numbers. The result may be some units too small.
uvec2 multiplyHigh64(const uvec2 a, const uvec2 b) {
    uint high, low;
    umulExtended(a.y, b.x, high, low);
    uvec2 product = add64(multiply64(a.y, b.y), uvec2(high, 0));
    umulExtended(a.x, b.y, high, low);
    return add64(product, uvec2(high, 0));
}

// The angle of pair t from one position to the next: ratio^t / (2 pi) turns, as a 64-bit fraction.
uvec2 frequency(uvec2 ratio, uint t) {
    uvec2 turns = uvec2(0x9391054au, 0x28be60dbu); // 1 / (2 pi)
    for (; t != 0; t >>= 1) {
        turns = (t & 1u) != 0 ? multiplyHigh64(turns, ratio) : turns;
        ratio = multiplyHigh64(ratio, ratio);
    }
    return turns;
}

// Cosine and sine of the angle `turn` / 2^32 turns.
vec2 cosineSine(const uint turn) {
    uint quarter = (turn + 0x20000000u) >> 30; // the nearest quarter turn
    float x = float(int(turn - (quarter << 30))) * 1.46291807926715969e-9; // 2 pi / 2^32
    float u = x * x;
    float s = x * fma(fma(fma(fma(2.7557319e-6, u, -1.9841270e-4), u, 8.3333333e-3), u, -0.16666667), u, 1.0);
    float c =
        fma(fma(fma(fma(fma(-2.7557319e-7, u, 2.4801587e-5), u, -1.3888889e-3), u, 4.1666667e-2), u, -0.5), u, 1.0);
    vec2 rotated = (quarter & 1u) == 0 ? vec2(c, s) : vec2(-s, c);
    return (quarter & 2u) == 0 ? rotated : -rotated;
}

#endif
