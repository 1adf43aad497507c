// SPDX-License-Identifier: MIT
//
// Products of fp32 numbers on cooperative matrices of 16-bit numbers, at the accuracy of fp32. An fp32 number x is the
// exact sum of three bf16:
//
//     h = round(x)    m = round(x - h)    l = x - h - m
//
// Each rounding is to nearest. bf16 has the exponents of fp32 and 8 of its 24 bits, so both differences are exact, and
// nothing is left after l. m is at most 2^-8 of h, l at most 2^-8 of m. A product of two numbers has nine products of
// parts. The kernel makes the six largest of them:
//
//     x y = h h' + (h m' + m h') + (h l' + m m' + l h') + (about 2^-24 x y, which the kernel leaves out)
//
// Numbers of magnitude TOO_LARGE and more, infinity and NaN do not fit: h could round to infinity, products of parts
// could overflow with different signs, and infinity times a part of 0 is NaN. The kernel notices such numbers when it
// moves them to shared memory, also where a mask drops them. Then the results of this kernel do not count.
// attention_scalar.comp follows in the same call, and computes all again if Bf16x3Table::fallback says so.
//
// Tests on drivers without bf16 matrices take fp16 parts (VKF_QUIRK_FP16X3). These have 8 bits too, so that the tests
// need every product. But fp16 has few exponents, so small numbers lose bits.
#ifndef VKF_BF16X3_GLSL
#define VKF_BF16X3_GLSL

#include "common/item.glsl"

const uint BF16X3_PARTS = VKF_BF16X3_PARTS;

// Bits of 2^60 for bf16: 128 products of smaller numbers stay below the largest fp32. Bits of 2^15 for fp16.
const uint TOO_LARGE = MATRICES_ARE_BF16 ? 0x5d800000u : 0x47000000u;

layout(buffer_reference, std430, buffer_reference_align = 8) buffer Bf16x3TableAt {
    Bf16x3Table table;
};

// Each number has three matrices of q and p, and two loads bring the eight elements of a word.
#define OPERAND_MATRICES(count) ((count)*BF16X3_PARTS)
#define QUERY_LOADS(words) ((words)*2)
const uint K_FETCHES = (TILE_KEYS * K_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE * 2; // loads of an invocation
const uint V_FETCHES = (TILE_KEYS * V_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE * 2;
const uint KV_WORDS = BF16X3_PARTS * VKF_MATRIX_KV_WORDS(TILE_KEYS, MATRIX_DEPTH, MATRIX_COLUMNS, HEAD_DIM, VALUE_DIM);
const uint V_STAGE = BF16X3_PARTS * TILE_KEYS * K_ROW; // where the rows of v begin

uint largest_magnitude; // bits of the largest magnitude that the invocation staged; a NaN counts as the largest

void noticeMagnitudes(const uvec4 numbers) {
    uvec4 magnitudes = numbers & 0x7fffffffu;
    largest_magnitude = max(largest_magnitude, max(max(magnitudes.x, magnitudes.y), max(magnitudes.z, magnitudes.w)));
}

// The next part of a number.
float partOf(const float x) {
    float part = uintBitsToFloat(BF16_BITS(x) & 0xffff0000u);
    return MATRICES_ARE_BF16 ? part : unpackHalf2x16(packHalf2x16(vec2(part, 0.0))).x;
}

// The next parts of two numbers, as 16-bit numbers in memory. Leaves in `x` what the parts lack.
uint takePair(inout vec2 x) {
    uvec2 parts = (floatBitsToUint(x) + 0x8000u) & 0xffff0000u;
    uint pair = MATRICES_ARE_BF16 ? (parts.x >> 16) | parts.y : packHalf2x16(uintBitsToFloat(parts));
    x -= MATRICES_ARE_BF16 ? uintBitsToFloat(parts) : unpackHalf2x16(pair);
    return pair;
}

// The next parts of eight numbers, given as bits of fp32.
uvec4 takeParts(inout uvec4 low, inout uvec4 high) {
    uvec4 word;
    UNROLL for (uint i = 0; i < 2; i++) {
        vec2 x = uintBitsToFloat(uvec2(low[2 * i], low[2 * i + 1]));
        vec2 y = uintBitsToFloat(uvec2(high[2 * i], high[2 * i + 1]));
        word[i] = takePair(x);
        word[2 + i] = takePair(y);
        low[2 * i] = floatBitsToUint(x.x);
        low[2 * i + 1] = floatBitsToUint(x.y);
        high[2 * i] = floatBitsToUint(y.x);
        high[2 * i + 1] = floatBitsToUint(y.y);
    }
    return word;
}

#endif
