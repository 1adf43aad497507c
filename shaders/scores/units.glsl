// SPDX-License-Identifier: MIT
//
// The unit of scores, of the running maximum m and of partial results in scratch memory.
//
// Usually it is log2: the host multiplies the scale by log2(e), and an exponential is one exp2. With a bias or a
// score function of the caller's own, scores are in natural units. The function gets such scores. A bias may be as
// large as fp32 goes (models write masks as the smallest fp32 number), and log2(e) times it would be infinite. The
// exponential then multiplies by log2(e), which costs what the bias saves.
//
// lse and sinks are always in natural units.
//
// A kernel that may go without the bias of its problem defines VKF_ADDS_BIAS. A kernel that has no scores declares
// BASE_E_SCORES, and defines VKF_UNIT_IS_GIVEN.
#ifndef VKF_UNITS_GLSL
#define VKF_UNITS_GLSL

#include "shared/attention_params.h"

#define MINUS_INFINITY uintBitsToFloat(0xff800000u)
#define LN2 0.693147180559945309
#define LOG2E 1.44269504088896341

#ifndef VKF_UNIT_IS_GIVEN
#include "masks/bias_type.glsl"
#ifndef VKF_ADDS_BIAS
#define VKF_ADDS_BIAS HAS_BIAS
#endif

const bool BASE_E_SCORES = OR_SCORE(VKF_ADDS_BIAS);
#endif

#define LARGEST_F32 uintBitsToFloat(0x7f7fffffu)

// The running maximum of the kernels on matrices, before any key. No score is below it but -infinity. It is finite, so
// that a score of -infinity minus it is -infinity and not NaN.
#define BEFORE_ANY_KEY (-LARGEST_F32)

// exp of a difference of scores.
float power(const float x) {
    return BASE_E_SCORES ? exp2(x * LOG2E) : exp2(x);
}

vec2 power(const vec2 x) {
    return BASE_E_SCORES ? exp2(x * LOG2E) : exp2(x);
}

vec4 power(const vec4 x) {
    return BASE_E_SCORES ? exp2(x * LOG2E) : exp2(x);
}

// A step of 1 in units of log2, in the unit of scores.
float oneInBase2() {
    return BASE_E_SCORES ? LN2 : 1.0;
}

// The unit of scores, by which natural numbers are multiplied.
float scoreUnit() {
    return BASE_E_SCORES ? 1.0 : LOG2E;
}

// A running maximum for probabilities that are rounded to 16 bits: rounded up to a whole number in units of log2, so
// that a maximum that lags behind does not change how probabilities are rounded. Natural scores of some thousands have
// too few bits for that, and stay as they are.
float wholeUnits(const float m) {
    if (BASE_E_SCORES) {
        return abs(m) < VKF_LARGEST_WHOLE_MAXIMUM ? ceil(m * LOG2E) * LN2 : m;
    }
    return ceil(m);
}

vec4 wholeUnits(const vec4 m) {
    return vec4(wholeUnits(m.x), wholeUnits(m.y), wholeUnits(m.z), wholeUnits(m.w));
}

// A natural number, such as lse, in the unit of scores. A finite number stays finite.
float toScoreUnit(const float x) {
    if (BASE_E_SCORES) {
        return x;
    }
    float y = x * LOG2E;
    return abs(x) <= LARGEST_F32 ? clamp(y, -LARGEST_F32, LARGEST_F32) : y;
}

// A score in natural units.
float toNatural(const float x) {
    return BASE_E_SCORES ? x : x * LN2;
}

#endif
