// SPDX-License-Identifier: MIT
//
// Infinity and NaN among the eight 16-bit elements of a word. To find them, add one to each exponent: an exponent of
// all ones carries into the sign bit.
#ifndef VKF_FINITE_HALVES_GLSL
#define VKF_FINITE_HALVES_GLSL

uvec4 carriedExponents(const uvec4 word) {
    const uint exponents = MATRICES_ARE_BF16 ? 0x7f807f80u : 0x7c007c00u;
    const uint lowest = MATRICES_ARE_BF16 ? 0x00800080u : 0x04000400u;
    return (word & exponents) + lowest;
}

// `carried`: carriedExponents of the word.
bool hasSpecialHalves(const uvec4 carried) {
    return ((carried.x | carried.y | carried.z | carried.w) & 0x80008000u) != 0;
}

// The word with zeros in place of infinity and NaN.
uvec4 withoutSpecialHalves(const uvec4 word, const uvec4 carried) {
    return word & ~(((carried >> 15) & 0x00010001u) * 0xffffu);
}

#endif
