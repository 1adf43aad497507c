// SPDX-License-Identifier: MIT
//
// Computes a final score from q . k: line 8 of the algorithm.
#ifndef VKF_FINAL_SCORE_GLSL
#define VKF_FINAL_SCORE_GLSL

#include "cache/scales.glsl"

// tanh. The built-in one may lose all relative accuracy near 0, and a softcap multiplies the error. The polynomial is a
// fit of (tanh(x) / x - 1) / x^2 in x^2 at Chebyshev nodes, error under 2^-25.
float tanhAccurate(const float x) {
    float a = abs(x);
    float u = x * x;
    float p = fma(fma(fma(fma(-0.00609671418, u, 0.0209971797), u, -0.0538509078), u, 0.133327693), u, -0.333333284);
    float near = fma(x * u, p, x);
    float far = 1.0 - 2.0 / (exp2(a * 2.88539008) + 1.0); // 2 / ln 2
    return a < 0.625 ? near : (x < 0.0 ? -far : far);
}

// tanh of x = scale s for |x| < NEAR_ZERO, computed from s: an odd polynomial whose factors contain the powers of the
// scale. It is a fit at Chebyshev nodes as above, error under 2^-21. The scale must lie between MIN_POLYNOMIAL_SCALE
// and MAX_POLYNOMIAL_SCALE: the powers of other scales are too small or too large.
#define NEAR_ZERO 0.2
#define MIN_POLYNOMIAL_SCALE 2e-4
#define MAX_POLYNOMIAL_SCALE 1e6

vec3 nearTanhFactors(const float scale) {
    float square = scale * scale;
    return scale * vec3(1.0, -0.333322712 * square, 0.131204801 * (square * square));
}

// The factor of s in softcap(s) = s nearTanhRatio(factors, s).
float nearTanhRatio(const vec3 factors, const float s) {
    float u = s * s;
    return fma(fma(factors.z, u, factors.y), u, factors.x);
}

// Applies scale and softcap to q . k. The result is in the unit of scores, which the host's factors contain.
float finalScore(float s) {
    s *= SCORE_SCALE;
    return HAS_SOFTCAP ? params.softcap * tanhAccurate(s) : s;
}

#endif
