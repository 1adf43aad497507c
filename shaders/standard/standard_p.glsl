// SPDX-License-Identifier: MIT
//
// The form of P in memory on the unfused path: 2^(s - m), not yet divided by l. The last pass divides o by l. So a
// probability is rounded to 16 bits as on the fused path: relative to the largest of the row, however many keys there
// are. A key that dropout drops has P = 0. The last pass also applies the scale of dropout to o.
//
// Where the row does not see the key, P depends on its type:
//
//     fp32         DROPPED
//     fp16, bf16   0
//
// In fp16 all of P is multiplied by 2^P_EXPONENT, because normal numbers of fp16 begin at 2^-14.
#ifndef VKF_STANDARD_P_GLSL
#define VKF_STANDARD_P_GLSL

#include "scores/dropout.glsl"
#include "softmax/row_state.glsl"
#include "softmax/stored_state.glsl"

const float P_EXPONENT = TYPE_P == VKF_STORED_F16 ? 14.0 : 0.0;
const float P_DROPPED = TYPE_P == VKF_STORED_F32 ? DROPPED : 0.0;

// The factor of a row of P v. A factor below 0 makes o exactly 0, as EMPTY_ROW of softmax/row_state.glsl does.
float rowFactor(const float l) {
    return l == 0.0 ? EMPTY_ROW : scaledByDropout(exp2(-P_EXPONENT) / l);
}

#endif
