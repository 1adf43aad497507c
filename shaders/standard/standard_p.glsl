// SPDX-License-Identifier: MIT
//
// How the unfused path keeps P in memory: 2^(s - m), not yet divided by l, which waits for o. So a probability is
// rounded to 16 bits as the fused path rounds it: relative to the row's largest, however many keys there are. A dropped
// key has 0; the scale of dropout waits for o, too.
//
//     fp32    DROPPED where the row does not see the key
//     fp16    0 there; times 2^P_EXPONENT, because its normal numbers begin at 2^-14
//     bf16    0 there
//
// Needs: common/params.glsl, TYPE_P (the type of P). Provides: P_EXPONENT, P_DROPPED, rowFactor.
#ifndef VKF_STANDARD_P_GLSL
#define VKF_STANDARD_P_GLSL

#include "scores/dropout.glsl"
#include "masks/dropped.glsl"
#include "scalar/row_state.glsl"

const float P_EXPONENT = TYPE_P == VKF_STORED_F16 ? 14.0 : 0.0;
const float P_DROPPED = TYPE_P == VKF_STORED_F32 ? DROPPED : 0.0;

// The factor of a row of P v; 0 makes an exact 0.
float rowFactor(const float l) {
    return l == 0.0 ? 0.0 : scaledByDropout(exp2(-P_EXPONENT) / l);
}

#endif
