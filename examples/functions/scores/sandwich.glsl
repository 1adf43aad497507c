// SPDX-License-Identifier: MIT
//
// Sandwich (arXiv 2212.10356): a bias of cosines of the distance, like the product of two sinusoidal embeddings of DIM
// numbers. Vulkan promises nothing about cos of large angles, so the angle is reduced first. attention-gym: sandwich.

const int HEADS = 8;
const int DIM = 32;
const float TURN = 6.28318530718;

float score(float s, Position at) {
    float distance = float(abs(at.row - at.key));
    float sum = 0.0;
    for (int t = 0; t < DIM / 2; t++) {
        float turns = distance * pow(10000.0, -2.0 * float(t) / float(DIM)) / TURN;
        sum += cos((turns - round(turns)) * TURN);
    }
    return s + float(HEADS) / (8.0 * float(at.head + 1)) * sum;
}

float scoreDerivative(float s, Position at) {
    return 1.0;
}
