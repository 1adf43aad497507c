// SPDX-License-Identifier: MIT
//
// No model has this function. It has a score, a mask, four arrays, conditions, and exclusive or of positions.
// Arrays: pattern u8 [16], headBias f32 [heads], keyBias bf16 [keys], group i32 [keys].

bool keep(Position at) {
    bool isInside = at.row >= 0 && at.row < at.keys;
    if (isInside && group(at.row) == group(at.key)) {
        return true;
    }
    return pattern((at.row ^ at.key) & 15) != 0 && (at.kvHead & 1) == (at.batch & 1);
}

float factorOf(Position at) {
    return (at.row & at.key & 1) == 0 ? 1.0 : 0.5;
}

float shifted(float s, Position at) {
    float sum = factorOf(at) * s;
    if (at.head % 3 != 0) {
        sum += headBias(at.head);
    } else if (at.key > at.row) {
        sum -= keyBias(at.key);
    }
    return sum;
}

float score(float s, Position at) {
    float x = shifted(s, at);
    return x > 2.0 ? x - 0.1 * (x - 2.0) * (x - 2.0) : x;
}

float scoreDerivative(float s, Position at) {
    float x = shifted(s, at);
    return factorOf(at) * (x > 2.0 ? 1.0 - 0.2 * (x - 2.0) : 1.0);
}
