// SPDX-License-Identifier: MIT
//
// Sinks: one more logit for each query head, which joins the softmax of its rows once, after all keys, and has no
// value.
#ifndef VKF_SINK_GLSL
#define VKF_SINK_GLSL

#include "common/call_table.glsl"

layout(constant_id = VKF_ID_SINKS) const bool HAS_SINKS = false;

// Whether the kernel at hand ends rows; of parts of the keys the merge does.
const bool ENDS_ROWS = SPLITS == 1;

// m and l of a row as they are with its sink, and the factor that brings what counted from the old m to the new one. Of
// a row without a visible key l is 0, whatever its m.
vec3 withSink(const uint head, const float m, const float l) {
    if (!HAS_SINKS) {
        return vec3(m, l, 1.0);
    }
    float sink = uintBitsToFloat(Word(add64(VKF_TABLE_ADDRESS(sinks), uvec2(head * 4, 0))).value) * LOG2E;
    if (sink == MINUS_INFINITY) {
        return vec3(m, l, 1.0);
    }
    float m_with = l == 0.0 ? sink : max(m, sink);
    float factor = l == 0.0 ? 0.0 : exp2(m - m_with);
    return vec3(m_with, l * factor + exp2(sink - m_with), factor);
}

#endif
