// SPDX-License-Identifier: MIT
//
// Angles of rotary embeddings. An angle is counted in turns, as a 64-bit fraction of one turn: position times frequency
// in integers keeps exactly what is left of whole turns. A product in fp32 would lose it from some thousand positions
// on. Cosine and sine are our own: Vulkan promises only 2^-11 of the built-in ones.
//
// Needs: common/address64.glsl. Provides: frequency, cosineSine, multiplyHigh64.
#ifndef VKF_ROTARY_GLSL
#define VKF_ROTARY_GLSL

// Upper half of the product of two 64-bit numbers, some units too low.
uvec2 multiplyHigh64(const uvec2 a, const uvec2 b) {
    uint high, low;
    umulExtended(a.y, b.x, high, low);
    uvec2 product = add64(multiply64(a.y, b.y), uvec2(high, 0));
    umulExtended(a.x, b.y, high, low);
    return add64(product, uvec2(high, 0));
}

// Turns from one position to the next, of pair t: ratio^t / (2 pi), as a fraction.
uvec2 frequency(uvec2 ratio, uint t) {
    uvec2 turns = uvec2(0x9391054au, 0x28be60dbu); // 1 / (2 pi)
    for (; t != 0; t >>= 1) {
        turns = (t & 1u) != 0 ? multiplyHigh64(turns, ratio) : turns;
        ratio = multiplyHigh64(ratio, ratio);
    }
    return turns;
}

// Cosine and sine of turn / 2^32 turns.
vec2 cosineSine(const uint turn) {
    uint quarter = (turn + 0x20000000u) >> 30; // the nearest
    float x = float(int(turn - (quarter << 30))) * 1.46291807926715969e-9; // 2 pi / 2^32
    float u = x * x;
    float s = x * fma(fma(fma(fma(2.7557319e-6, u, -1.9841270e-4), u, 8.3333333e-3), u, -0.16666667), u, 1.0);
    float c =
        fma(fma(fma(fma(fma(-2.7557319e-7, u, 2.4801587e-5), u, -1.3888889e-3), u, 4.1666667e-2), u, -0.5), u, 1.0);
    vec2 rotated = (quarter & 1u) == 0 ? vec2(c, s) : vec2(-s, c);
    return (quarter & 2u) == 0 ? rotated : -rotated;
}

#endif
