// SPDX-License-Identifier: MIT
//
// A range of positions as bits of a word: bit i stands for position i. Macros, so that positions may be signed or
// unsigned.
//
// Needs: nothing. Provides: BITS_FROM, BITS_BEFORE.
#ifndef VKF_RANGE_BITS_GLSL
#define VKF_RANGE_BITS_GLSL

// Bits of the positions from `first` on. The caller passes as `shift`: 0 if `first` is negative; `first` if it is 0 to
// 31. Any other `first` does not use `shift`.
#define BITS_FROM(first, shift) ((first) < 32 ? 0xffffffffu << (shift) : 0)

// Bits of the positions before `end`.
#define BITS_BEFORE(end) ((end) > 0 ? 0xffffffffu >> 32 - min(end, 32) : 0)

#endif
