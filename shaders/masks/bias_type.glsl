// SPDX-License-Identifier: MIT
//
// The type of the additive bias, and the class of rows that the kernel takes.
#ifndef VKF_BIAS_TYPE_GLSL
#define VKF_BIAS_TYPE_GLSL

layout(constant_id = VKF_ID_BIAS) const uint BIAS = 0; // type of its elements plus 1; 0 = no bias

layout(constant_id = VKF_ID_ROW_CLASS) const uint ROW_CLASS = VKF_ROWS_ALL;

const bool HAS_BIAS = BIAS != 0;
const bool BIAS_IS_MASK = ROW_CLASS == VKF_ROWS_BIAS_MASK; // the bias is a mask: full tiles do not look at it
const uint LOG_BIAS_BITS = BIAS == VKF_STORED_F32 + 1 ? 5 : 4;

#endif
