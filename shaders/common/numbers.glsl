// SPDX-License-Identifier: MIT
//
// Numbers that the formulas of the softmax need.
#ifndef VKF_NUMBERS_GLSL
#define VKF_NUMBERS_GLSL

#define MINUS_INFINITY uintBitsToFloat(0xff800000u)
#define LN2 0.693147180559945309
#define LOG2E 1.44269504088896341

// Marks the probability of a key that the row does not see. The marker is not 0: 0 times a value of NaN or infinity
// would be NaN. The kernel skips the value instead. No probability is negative.
#define DROPPED (-1.0)

#endif
