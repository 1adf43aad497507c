// SPDX-License-Identifier: MIT
//
// A bias of each sequence. FlashAttention's tests have this function.
// Arrays: batchBias f32 [batch].

float score(float s, Position at) {
    return s + batchBias(at.batch);
}

float scoreDerivative(float s, Position at) {
    return 1.0;
}
