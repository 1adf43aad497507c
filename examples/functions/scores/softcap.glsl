// SPDX-License-Identifier: MIT
//
// Softcap of Gemma 2 (arXiv 2408.00118): scores stay between -CAP and CAP. softcap(s, cap), which every file may call,
// is cap tanh(s / cap). attention-gym: softcapping.

const float CAP = 30.0;

float score(float s, Position at) {
    return softcap(s, CAP);
}

float scoreDerivative(float s, Position at) {
    float t = softcap(s, CAP) / CAP;
    return 1.0 - t * t;
}
