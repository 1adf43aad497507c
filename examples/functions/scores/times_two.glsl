// SPDX-License-Identifier: MIT
//
// Twice the score.

float score(float s, Position at) {
    return 2.0 * s;
}

float scoreDerivative(float s, Position at) {
    return 2.0;
}
