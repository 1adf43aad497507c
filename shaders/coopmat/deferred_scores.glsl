// SPDX-License-Identifier: MIT
//
// What becomes of a score of the cooperative-matrix kernel in the exponent alone, between products, and not before the
// softmax, where nothing else runs: the scale, a softcap, ALiBi.
//
//     p = 2^(grown(s) + slope_step (distance + key) - m)
//
// grown(s) = s late.x, under a softcap s (late.x + late.y s^2 + late.z s^4), and only grows with s, so that the largest s is
// looked for and not the largest of these. Scores that are too large for the polynomial, or of a tile that lies on both
// sides of a row's position, are brought up to date in place; they stay as they are after that (SETTLED, a step of 0).
#ifndef VKF_DEFERRED_SCORES_GLSL
#define VKF_DEFERRED_SCORES_GLSL

// Whether a bias, divided by the scale, is what products are added to; else it is added to scores, capped ones.
layout(constant_id = VKF_ID_BIAS_FIRST) const bool BIAS_FIRST = false;
const bool BIAS_LAST = HAS_BIAS && !BIAS_FIRST;

const bool CAPS_DEFERRED = HAS_SOFTCAP && !HAS_BIAS;
// Factors that leave scores alone, and -inf too: 0 times its square would not be a number. The least ones that are normal.
#define SETTLED vec3(1.0, 2e-38, 2e-38)

// What becomes of the score, less m. The row counts as that of m_row, the key from the lane's first on.
float exponent(const float s, const float m, const uint row, const uint key) {
    float rest = -m;
    if (HAS_ALIBI) {
        float step = slope_step[PACKED_HEADS == 1 ? 0 : row];
        uint rows = laneRow(row);
        if (PACKED_HEADS != 1) {
            uint first = first_row + lanePlace(lane).x;
            rows = queryRow(first + rows) - queryRow(first);
        }
        rest = fma(float(key), step, fma(-float(rows), step, step * float(lane_distance)) - m);
    }
    if (CAPS_DEFERRED) {
        return fma(s, nearTanhRatio(deferred, s), rest);
    }
    return fma(s, HAS_ALIBI ? deferred.x : HAS_SOFTCAP || BIAS_LAST ? 1.0 : abs(params.score_scale), rest);
}

// p = 2^x of a row and a key of the lane's. l takes it in before it is rounded or dropped.
float takeProbability(const float x, const uint row, const uint key) {
    float p = exp2(x);
    l_row[row] += p;
    if (HAS_DROPOUT && !staysIn(dropout_row[HAS_DROPOUT ? row : 0], first_key + key)) {
        return 0.0;
    }
    return p;
}

#endif
