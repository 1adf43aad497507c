// SPDX-License-Identifier: MIT
//
// Computes a final score from q . k, and lse from (m, l): lines 8 and 13 of the algorithm. Scores are in units of log2,
// so that an exponential is one exp2.
//
// Needs: common/params.glsl, common/address.glsl.
// Provides: BEFORE_ANY_KEY, NEAR_ZERO, LEAST_FOLDED_SCALE, tanhAccurate, nearTanhFactors, nearTanhRatio, finalScore,
// storeLse.
#ifndef VKF_FINAL_SCORE_GLSL
#define VKF_FINAL_SCORE_GLSL

#include "common/numbers.glsl"

// The running maximum of the kernels on matrices, before any key. It is far below any usual score. It is finite, so
// that a score of -infinity minus it is -infinity and not NaN.
#define BEFORE_ANY_KEY (-3.0e38)

// tanh. The built-in one may lose all relative accuracy near 0, and a softcap multiplies the error. The polynomial is a
// fit of (tanh(x) / x - 1) / x^2 in x^2 at Chebyshev nodes, error under 2^-25.
float tanhAccurate(const float x) {
    float a = abs(x);
    float u = x * x;
    float p = fma(fma(fma(fma(-0.00609671418, u, 0.0209971797), u, -0.0538509078), u, 0.133327693), u,
                  -0.333333284);
    float near = fma(x * u, p, x);
    float far = 1.0 - 2.0 / (exp2(a * 2.88539008) + 1.0); // 2 / ln 2
    return a < 0.625 ? near : (x < 0.0 ? -far : far);
}

// tanh of x = scale s for |x| < NEAR_ZERO, computed from s: an odd polynomial whose factors contain the powers of the
// scale. It is a fit at Chebyshev nodes as above, error under 2^-21. The scale must be above LEAST_FOLDED_SCALE: the
// powers of a smaller scale are too small.
#define NEAR_ZERO 0.2
#define LEAST_FOLDED_SCALE 2e-4

vec3 nearTanhFactors(const float scale) {
    float square = scale * scale;
    return scale * vec3(1.0, -0.333322712 * square, 0.131204801 * (square * square));
}

// The factor of s in softcap(s) = s nearTanhRatio(factors, s).
float nearTanhRatio(const vec3 factors, const float s) {
    float u = s * s;
    return fma(fma(factors.z, u, factors.y), u, factors.x);
}

// Applies scale and softcap to q . k. The result is in units of log2.
float finalScore(float s) {
    s *= params.score_scale;
    return HAS_SOFTCAP ? params.softcap * tanhAccurate(s) : s;
}

// Line 13: stores lse = m + log l of one row, dense [batch, heads, rows]. With key splits it stores m and l for the
// merge, as two numbers. In one number, a large m would leave no bits for l.
void storeLse(const Item item, const uint row, const float m, const float l) {
    uvec2 index = rowNumber(item, row);
    if (KEY_SPLITS > 1) {
        uvec2 bytes = SHIFT64(index, 3);
        Word2(add64(params.lse, bytes)).value = floatBitsToUint(vec2(m, l));
        return;
    }
    uvec2 bytes = SHIFT64(index, 2);
    Word(add64(params.lse, bytes)).value = floatBitsToUint(l == 0.0 ? MINUS_INFINITY : (m + log2(l)) * LN2);
}

#endif
