// SPDX-License-Identifier: MIT
//
// The end of a row: lines 12 and 13 of the algorithm. A sink is one more logit for each query head. It enters the
// softmax of the head's rows here, once, after all keys. It has no row of v.
#ifndef VKF_FINISH_GLSL
#define VKF_FINISH_GLSL

#include "softmax/row_state.glsl"

// A kernel may have the address of the sinks in its push constants. It then defines VKF_SINKS_ADDRESS as that address,
// and declares HAS_SINKS.
#ifndef VKF_SINKS_ADDRESS
#include "common/item.glsl"
#define VKF_SINKS_ADDRESS VKF_TABLE_ADDRESS(sinks)

layout(constant_id = VKF_ID_SINKS) const bool HAS_SINKS = false;

// Whether this kernel finishes rows. With key splits, the merge finishes them.
const bool ENDS_ROWS = KEY_SPLITS == 1;
#else
const bool ENDS_ROWS = true;
#endif

struct FinishedRow {
    float l;   // what o is divided by: the sum with the sink, counted from the m of the row; 0 without a visible key
    float lse; // in base e
};

// lse = m + log l, where m is in base e.
float logOfSum(const float m, const float l) {
    return lseOfState(m, l);
}

// Finishes a row, from its m and l over all keys. A row without a visible key has l = 0; its m is not used. A sink is
// not changed to units of log2, because the largest sinks would become infinite.
FinishedRow finishRow(const uint head, const float m, const float l) {
    if (HAS_SINKS && ENDS_ROWS) {
        float sink = uintBitsToFloat(Word(add64(VKF_SINKS_ADDRESS, uvec2(head * 4, 0))).value);
        if (sink != MINUS_INFINITY) {
            float natural = toNatural(m);
            float largest = l == 0.0 ? sink : max(natural, sink);
            float of_sink = exp2((sink - largest) * LOG2E);
            float of_keys = l == 0.0 ? 0.0 : l * exp2((natural - largest) * LOG2E);
            bool infinite = floatBitsToUint(sink) == 0x7f800000u; // makes the row NaN, as such a score does
            float with_sink = l + (infinite ? uintBitsToFloat(0x7fc00000u) : exp2((sink - natural) * LOG2E));
            return FinishedRow(l == 0.0 ? 0.0 : with_sink, logOfSum(largest, of_keys + of_sink));
        }
    }
    return FinishedRow(l, BASE_E_SCORES || l == 0.0 ? logOfSum(m, l) : (m + log2(l)) * LN2);
}

#endif
