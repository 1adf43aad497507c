// SPDX-License-Identifier: MIT
//
// The square of the score.

float score(float s, Position at) {
    return s * s;
}

float scoreDerivative(float s, Position at) {
    return 2.0 * s;
}
