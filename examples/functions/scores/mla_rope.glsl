// SPDX-License-Identifier: MIT
//
// Multi-head latent attention (arXiv 2405.04434): adds the product of the columns with rotary embeddings, which
// stand in arrays of their own. The backward pass gives no gradient of the arrays. attention-gym: mla.
// Arrays: qRope f16 [batch, HEADS, ROWS, ROPE], kRope f16 [batch, KEYS, ROPE].

const int HEADS = 16;
const int ROWS = 512; // capacity
const int KEYS = 512; // capacity
const int ROPE = 64;  // columns
const float SCALE = 0.0722;

float score(float s, Position at) {
    int number = clamp(at.row + at.rows - at.keys, 0, at.rows - 1); // of the row, with bottom-right alignment
    int q = ((at.batch * HEADS + at.head) * ROWS + number) * ROPE;
    int k = (at.batch * KEYS + at.key) * ROPE;
    float sum = 0.0;
    for (int d = 0; d < ROPE; d++) {
        sum += qRope(q + d) * kRope(k + d);
    }
    return s + SCALE * sum;
}

float scoreDerivative(float s, Position at) {
    return 1.0;
}
