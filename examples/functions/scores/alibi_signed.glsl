// SPDX-License-Identifier: MIT
//
// ALiBi with a sign (arXiv 2108.12409): scores fall before the diagonal and rise behind it. attention-gym: alibi.

const int HEADS = 8;

float score(float s, Position at) {
    return s + exp2(-8.0 * float(at.head + 1) / float(HEADS)) * float(at.key - at.row);
}

float scoreDerivative(float s, Position at) {
    return 1.0;
}
