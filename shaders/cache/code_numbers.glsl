// SPDX-License-Identifier: MIT
//
// From codes of iq4_nl to their numbers, VKF_IQ4_NL_NUMBERS, without a table in memory. A polynomial of degree 4 passes
// each number at a distance below 0.434. So the number is the whole number nearest to the polynomial. Arithmetic for
// two or four codes at a time takes fewer instructions than choosing among words of a table.
//
// Codes count from VKF_MIDDLE_CODE, so that factors and partial sums are small. These are macros because chains of
// calls must be short (docs/kernel_rules.md, "Chains of calls").
//
// Needs: nothing; fp16 arithmetic for VKF_HALF_NUMBERS_OF. Provides: VKF_MIDDLE_CODE, VKF_NUMBERS_OF,
// VKF_HALF_NUMBERS_OF.
#ifndef VKF_CODE_NUMBERS_GLSL
#define VKF_CODE_NUMBERS_GLSL

#define VKF_MIDDLE_CODE 7.0

// A sum of factors times powers of the code, by Horner's rule.
#define VKF_CODE_POLYNOMIAL(code, vector, f0, f1, f2, f3, f4)                                                    \
    fma(fma(fma(fma(code, vector(f4), vector(f3)), code, vector(f2)), code, vector(f1)), code, vector(f0))

// Numbers of a vec4 of codes. The sum begins at 2^15 + 128.5, so its last bit is 2^-8. Without its last eight bits it
// is a whole number. Every rounding that Vulkan allows gives the same number.
#define VKF_NUMBERS_OF(code)                                                                                     \
    (uintBitsToFloat(floatBitsToUint(VKF_CODE_POLYNOMIAL(code, vec4, 32896.5 - 10.1038858, 11.71261, -0.252815,  \
                                                         0.0754956, 0.00158604)) &                               \
                     0xffffff00u) -                                                                              \
     32896.0)

// Numbers of an f16vec2 of codes. The sum begins at 1152, so its last bit is 1, and the last addition rounds to the
// number. The factors are 1142, 93.0625 / 8, -15.796875 / 64, 39.6875 / 512 and 5.64453125 / 4096. They give each
// number whether multiply-add rounds once or twice, if it rounds to nearest. The result must be `precise`, which keeps
// the two last additions apart.
//
// The factors are written as bits of pairs, because shaders that are made bf16 have no fp16 constants.
#define VKF_HALF_NUMBERS_OF(code)                                                                                \
    (VKF_CODE_POLYNOMIAL(code, unpackFloat2x16, 0x64766476u, 0x49d149d1u, 0xb3e6b3e6u, 0x2cf62cf6u,              \
                         0x15a515a5u) -                                                                          \
     unpackFloat2x16(0x64806480u))

#endif
