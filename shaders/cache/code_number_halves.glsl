// SPDX-License-Identifier: MIT
//
// From codes of iq4_nl to their numbers in fp16, for matrix kernels. code_numbers.glsl explains the polynomial.
//
// The sum begins at 1152, so its last bit is 1, and the last addition rounds to the number. The factors are fp16
// numbers. They give each number whether multiply-add rounds once or twice, if it rounds to nearest.
//
// Needs: fp16 arithmetic. Provides: halfNumbersOf.
#ifndef VKF_CODE_NUMBER_HALVES_GLSL
#define VKF_CODE_NUMBER_HALVES_GLSL

// Codes count from VKF_MIDDLE_CODE. `precise` keeps the two last additions apart.
f16vec2 halfNumbersOf(const f16vec2 code) {
    precise f16vec2 sum = fma(code, f16vec2(5.64453125 / 4096.0), f16vec2(39.6875 / 512.0));
    sum = fma(sum, code, f16vec2(-15.796875 / 64.0));
    sum = fma(sum, code, f16vec2(93.0625 / 8.0));
    sum = fma(sum, code, f16vec2(1152.0 - 10.0));
    precise f16vec2 number = sum - f16vec2(1152.0);
    return number;
}

#endif
