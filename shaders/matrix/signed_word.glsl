// SPDX-License-Identifier: MIT
//
// Moves the sign of the scale into q. Kernels can then multiply scores by the magnitude of the scale, and the largest
// product gives the largest score.
//
// Needs: common/params.glsl. Provides: signedWord.
#ifndef VKF_SIGNED_WORD_GLSL
#define VKF_SIGNED_WORD_GLSL

// Eight 16-bit elements of q, negated where the scale is negative.
uvec4 signedWord(const uvec4 word) {
    return params.score_scale < 0.0 ? word ^ 0x80008000u : word;
}

#endif
