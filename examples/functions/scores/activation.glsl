// SPDX-License-Identifier: MIT
//
// Attention with an activation f instead of softmax, here the squared ReLU: exp(score) is f(s) + OFFSET. The caller
// multiplies o by exp(lse), which undoes softmax. The offset keeps the logarithm finite. attention-gym: activation.

const float OFFSET = 0.01;

float score(float s, Position at) {
    float positive = max(s, 0.0);
    return log(positive * positive + OFFSET);
}

float scoreDerivative(float s, Position at) {
    float positive = max(s, 0.0);
    return 2.0 * positive / (positive * positive + OFFSET);
}
