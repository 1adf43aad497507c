// SPDX-License-Identifier: MIT
//
// Numbers that the formulas of the softmax need.
//
// Needs: nothing. Provides: MINUS_INFINITY, LN2, LOG2E.
#ifndef VKF_NUMBERS_GLSL
#define VKF_NUMBERS_GLSL

#define MINUS_INFINITY uintBitsToFloat(0xff800000u)
#define LN2 0.693147180559945309
#define LOG2E 1.44269504088896341

#endif
