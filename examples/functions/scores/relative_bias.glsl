// SPDX-License-Identifier: MIT
//
// Bias by distance and head, for distances up to FARTHEST on both sides. Other pairs get none.
// Arrays: bias f16 [2 * FARTHEST + 1, HEADS].

const int FARTHEST = 512;
const int HEADS = 8;

float score(float s, Position at) {
    int distance = at.key - at.row;
    if (abs(distance) > FARTHEST) {
        return s;
    }
    return s + bias((distance + FARTHEST) * HEADS + at.head);
}

float scoreDerivative(float s, Position at) {
    return 1.0;
}
