// SPDX-License-Identifier: MIT
//
// Softcap of Gemma 2 (arXiv 2408.00118): scores stay between -CAP and CAP. attention-gym: softcapping.

const float CAP = 30.0;

float score(float s, Position at) {
    return CAP * tanh(s / CAP);
}

float scoreDerivative(float s, Position at) {
    float t = tanh(s / CAP);
    return 1.0 - t * t;
}
