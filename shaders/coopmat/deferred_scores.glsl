// SPDX-License-Identifier: MIT
//
// Terms of a score that are deferred to the exponent: the scale, a softcap and ALiBi. They cost less there. The
// exponent is computed between products, whereas nothing else runs before the softmax.
//
//     p = exp(f(s) + slope_step (lane_distance + key) - m)
//     f(s) = s deferred.x                                                 without a softcap
//     f(s) = s (deferred.x + deferred.y s^2 + deferred.z s^4)             with a softcap, near 0
//
// f grows with s, so the largest s of a row has the largest f(s). Three kinds of scores cannot be deferred, and the
// kernel finishes them in place (coopmat/scores.glsl):
//   - A score that is too large for the polynomial.
//   - A score of a tile that lies on both sides of a row's position.
//   - A score with a bias: scale and softcap come before the bias.
//
// For finished scores `deferred` is IDENTITY_FACTORS, and slope_step is 0 if they include ALiBi. These values leave the
// scores unchanged.
#ifndef VKF_DEFERRED_SCORES_GLSL
#define VKF_DEFERRED_SCORES_GLSL

const bool CAPS_DEFERRED = AND_NO_SCORE(HAS_SOFTCAP && !ADDS_BIAS);
// Factors that leave a score unchanged. The last two are tiny normal numbers instead of 0, because 0 times the square
// of -infinity would be NaN.
#define IDENTITY_FACTORS vec3(1.0, 2e-38, 2e-38)

// The factor of a product, or of x in tanh x under a softcap. The host gives it in natural units if the problem has a
// bias. Rows whose bias is a mask need it in units of log2.
float scoreScale() {
    const bool converts = AND_NO_SCORE(HAS_BIAS && !ADDS_BIAS && !HAS_SOFTCAP);
    return converts ? abs(SCORE_SCALE) * LOG2E : abs(SCORE_SCALE);
}

float softcap() {
    return AND_NO_SCORE(HAS_BIAS && !ADDS_BIAS) ? params.softcap * LOG2E : params.softcap;
}

// The exponent of p: f(s) plus ALiBi, minus m. `row` indexes m_row; `key` counts from the lane's first key.
float exponent(const float s, const float m, const uint row, const uint key) {
    float rest = -m;
    if (HAS_ALIBI) {
        float step = slope_step[PACKED_HEADS == 1 ? 0 : row];
        uint rows = laneRow(row);
        if (PACKED_HEADS != 1) {
            uint first = first_row + lanePosition(lane).x;
            rows = queryRow(first + rows) - queryRow(first);
        }
        rows *= uint(ROW_STRIDE);
        rest = fma(float(keyPosition(key)), step, fma(-float(rows), step, step * float(lane_distance)) - m);
    }
    if (CAPS_DEFERRED) {
        return fma(s, nearTanhRatio(deferred, s), rest);
    }
    return fma(s, HAS_ALIBI ? deferred.x : OR_SCORE(HAS_SOFTCAP || ADDS_BIAS) ? 1.0 : scoreScale(), rest);
}

// Line 9 of the algorithm: p = exp(x) for a row and a key of the lane. l includes p as it is before rounding and
// dropout.
float takeProbability(const float x, const uint row, const uint key) {
    float p = power(x);
    l_row[row] += p;
    if (HAS_DROPOUT && !staysIn(dropout_row[HAS_DROPOUT ? row : 0], scoreKey(key))) {
        return 0.0;
    }
    return p;
}

#endif
