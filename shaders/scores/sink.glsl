// SPDX-License-Identifier: MIT
//
// Sinks: one more logit for each query head. It enters the softmax of the head's rows once, after all keys. It has no
// row of v.
//
// Needs: common/params.glsl, or VKF_SINKS_ADDRESS and HAS_SINKS. Provides: HAS_SINKS, ENDS_ROWS, withSink.
#ifndef VKF_SINK_GLSL
#define VKF_SINK_GLSL

#include "common/numbers.glsl"

// A kernel may have the address of the sinks in its push constants. It then defines VKF_SINKS_ADDRESS as that address,
// and declares HAS_SINKS.
#ifndef VKF_SINKS_ADDRESS
#include "common/call_table.glsl"
#define VKF_SINKS_ADDRESS VKF_TABLE_ADDRESS(sinks)

layout(constant_id = VKF_ID_SINKS) const bool HAS_SINKS = false;

// Whether this kernel finishes rows. With key splits, the merge finishes them.
const bool ENDS_ROWS = KEY_SPLITS == 1;
#endif

// Returns m and l of a row with its sink, and the factor that rescales o from the old m to the new m. A row without a
// visible key has l = 0; its m is not used.
vec3 withSink(const uint head, const float m, const float l) {
    if (!HAS_SINKS) {
        return vec3(m, l, 1.0);
    }
    float sink = uintBitsToFloat(Word(add64(VKF_SINKS_ADDRESS, uvec2(head * 4, 0))).value) * LOG2E;
    if (sink == MINUS_INFINITY) {
        return vec3(m, l, 1.0);
    }
    float m_with = l == 0.0 ? sink : max(m, sink);
    float factor = l == 0.0 ? 0.0 : exp2(m - m_with);
    return vec3(m_with, l * factor + exp2(sink - m_with), factor);
}

#endif
