// SPDX-License-Identifier: MIT
//
// The sign of the scale, moved into q: kernels that multiply scores by the magnitude of the scale find the largest
// score where the largest product is.
//
// Needs: common/params.glsl. Provides: signedWord.
#ifndef VKF_SIGNED_WORD_GLSL
#define VKF_SIGNED_WORD_GLSL

// Eight 16-bit elements of q, negated where the scale is negative.
uvec4 signedWord(const uvec4 word) {
    return params.score_scale < 0.0 ? word ^ 0x80008000u : word;
}

#endif
