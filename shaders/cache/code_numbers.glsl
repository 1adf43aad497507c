// SPDX-License-Identifier: MIT
//
// From codes of iq4_nl to their numbers, VKF_IQ4_NL_NUMBERS, without a table in memory. A polynomial of degree 4 passes
// each number at a distance below 0.434. So the number is the whole number nearest to the polynomial. Arithmetic for
// two or four codes at a time takes fewer instructions than choosing among words of a table.
//
// Codes count from VKF_MIDDLE_CODE, so that factors and partial sums are small.
//
// Needs: nothing. Provides: VKF_MIDDLE_CODE, numbersOf.
#ifndef VKF_CODE_NUMBERS_GLSL
#define VKF_CODE_NUMBERS_GLSL

#define VKF_MIDDLE_CODE 7.0

// The sum begins at 2^15 + 128.5, so the last bit of a sum is 2^-8. Without its last eight bits it is a whole number.
// Every rounding that Vulkan allows gives the same number.
vec4 numbersOf(const vec4 code) {
    const float begin = 32768.0 + 128.0;
    vec4 sum = fma(code, vec4(0.00158604), vec4(0.0754956));
    sum = fma(sum, code, vec4(-0.252815));
    sum = fma(sum, code, vec4(11.71261));
    sum = fma(sum, code, vec4(begin + 0.5 - 10.1038858));
    return uintBitsToFloat(floatBitsToUint(sum) & 0xffffff00u) - begin;
}

#endif
