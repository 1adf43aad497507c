// SPDX-License-Identifier: MIT
//
// A range of positions as bits of a word: bit i stands for position i.
//
// Needs: nothing. Provides: BITS_FROM, BITS_BEFORE. They are macros, so that signed and unsigned positions both work.
#ifndef VKF_RANGE_BITS_GLSL
#define VKF_RANGE_BITS_GLSL

// Bits of positions from `first` on. `shift` is `first` where that is between 0 and 31, and 0 where it is negative.
#define BITS_FROM(first, shift) ((first) < 32 ? 0xffffffffu << (shift) : 0)

// Bits of positions before `end`.
#define BITS_BEFORE(end) ((end) > 0 ? 0xffffffffu >> 32 - min(end, 32) : 0)

#endif
