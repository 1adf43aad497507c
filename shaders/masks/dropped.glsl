// SPDX-License-Identifier: MIT
//
// Needs: nothing. Provides: DROPPED.
#ifndef VKF_DROPPED_GLSL
#define VKF_DROPPED_GLSL

// Stands for the probability of a key that the row does not see: not 0, so that the key's value is
// passed over instead of multiplied by zero, which would let a NaN through. No probability is negative.
#define DROPPED (-1.0)

#endif
