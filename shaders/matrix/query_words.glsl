// SPDX-License-Identifier: MIT
//
// Rows of q as words of eight 16-bit elements for a matrix unit. An fp32 q is rounded to the type of the matrices.
#ifndef VKF_QUERY_WORDS_GLSL
#define VKF_QUERY_WORDS_GLSL

// Two elements, rounded to nearest. An element past the largest fp16 becomes infinite, as elements of block types do.
// packBf16 needs quiet NaN, which stored elements need not be.
uint roundedPair(const vec2 x) {
    if (MATRICES_ARE_BF16) {
        uvec2 bits = floatBitsToUint(x);
        bvec2 is_nan = greaterThan(bits & 0x7fffffffu, uvec2(0x7f800000u));
        return packBf16(uintBitsToFloat(mix(bits, bits | 0x00400000u, is_nan)));
    }
    vec2 infinite = uintBitsToFloat((floatBitsToUint(x) & 0x80000000u) | 0x7f800000u);
    return packHalf2x16(mix(x, infinite, greaterThanEqual(abs(x), vec2(VKF_OVERFLOW_F16))));
}

// Eight elements from `column` on, of a row of `dim` fp32 elements; zeros past the end of the row. With whole words,
// the function always loads words that exist. So loads need no branches and are in flight together. It calls no
// functions of common/element.glsl, because chains of calls must be short (docs/kernel_rules.md, "Chains of calls").
uvec4 roundedRowWord(const uvec2 row_address, const uint column, const uint dim, const bool whole_words) {
    vec4 low = vec4(0.0);
    vec4 high = vec4(0.0);
    if (whole_words) {
        uvec2 address = add64(row_address, uvec2(min(column, dim - 8) * 4, 0));
        low = uintBitsToFloat(Word4(address).value);
        high = uintBitsToFloat(Word4(add64(address, uvec2(16, 0))).value);
    } else {
        UNROLL for (uint i = 0; i < 8; i++) {
            if (column + i < dim) {
                float x = uintBitsToFloat(Word(add64(row_address, uvec2((column + i) * 4, 0))).value);
                low[i % 4] = i < 4 ? x : low[i % 4];
                high[i % 4] = i < 4 ? high[i % 4] : x;
            }
        }
    }
    uvec4 word = uvec4(roundedPair(low.xy), roundedPair(low.zw), roundedPair(high.xy), roundedPair(high.zw));
    return column < dim ? word : uvec4(0);
}

// Moves the sign of the scale into q. Kernels can then multiply scores by the magnitude of the scale, and the largest
// product gives the largest score.

// Eight 16-bit elements of q, negated where the scale is negative.
uvec4 signedWord(const uvec4 word) {
    return params.score_scale < 0.0 ? word ^ 0x80008000u : word;
}

#endif
