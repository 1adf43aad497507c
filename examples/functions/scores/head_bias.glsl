// SPDX-License-Identifier: MIT
//
// A bias of each query head.
// Arrays: headBias bf16 [heads].

float score(float s, Position at) {
    return s + headBias(at.head);
}

float scoreDerivative(float s, Position at) {
    return 1.0;
}
