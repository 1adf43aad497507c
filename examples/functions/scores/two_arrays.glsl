// SPDX-License-Identifier: MIT
//
// A bias of each sequence and one of each position, from two arrays.
// Arrays: headBias f16 [heads], keyBias f32 [keys].

float score(float s, Position at) {
    return s + headBias(at.head) + keyBias(at.key);
}

float scoreDerivative(float s, Position at) {
    return 1.0;
}
