// SPDX-License-Identifier: MIT
//
// Bias by distance and head. Distances over FARTHEST count as FARTHEST, as in Shaw et al. (arXiv 1803.02155).
// Arrays: bias bf16 [2 * FARTHEST + 1, HEADS].

const int FARTHEST = 32;
const int HEADS = 8;

float score(float s, Position at) {
    int distance = clamp(at.key - at.row, -FARTHEST, FARTHEST);
    return s + bias((distance + FARTHEST) * HEADS + at.head);
}

float scoreDerivative(float s, Position at) {
    return 1.0;
}
