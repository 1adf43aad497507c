// SPDX-License-Identifier: MIT
//
// The type of the additive bias.
//
// Needs: common/params.glsl. Provides: BIAS, HAS_BIAS, LOG_BIAS_BITS.
#ifndef VKF_BIAS_TYPE_GLSL
#define VKF_BIAS_TYPE_GLSL

layout(constant_id = VKF_ID_BIAS) const uint BIAS = 0; // type of its elements plus 1; 0 = no bias

const bool HAS_BIAS = BIAS != 0;
const uint LOG_BIAS_BITS = BIAS == VKF_STORED_F32 + 1 ? 5 : 4;

#endif
