// SPDX-License-Identifier: MIT
//
// The numbers that multiply k and v of fp8 types (VKF_USE_KV_SCALES). No kernel multiplies elements. The number of k
// multiplies scores together with the scale of the call, and the number of v multiplies finished rows of o.
#ifndef VKF_SCALES_GLSL
#define VKF_SCALES_GLSL

#include "common/item.glsl"

layout(constant_id = VKF_ID_KV_SCALES) const uint KV_SCALES = 0;

const uint K_SCALES = KV_SCALES & 3u; // VKF_SCALES_*
const uint V_SCALES = KV_SCALES >> 2;

// The numbers of the workgroup's KV head. A kernel may convert elements to multiples of them, and multiplies these
// numbers then.
float key_scale = 1.0;
float value_scale = 1.0;

// Number `first`, or the KV head's number after it.
float scaleAt(const uint mode, const uint first, const uint kv_head) {
    uint index = first + (mode == VKF_SCALES_BY_HEAD ? kv_head : 0);
    return uintBitsToFloat(Word(add64(VKF_TABLE_ADDRESS(kv_scales), uvec2(index * 4, 0))).value);
}

void loadScales(const uint kv_head) {
    if (K_SCALES != VKF_SCALES_NONE) {
        key_scale = scaleAt(K_SCALES, 0, kv_head);
    }
    if (V_SCALES != VKF_SCALES_NONE) {
        uint of_k = K_SCALES == VKF_SCALES_BY_HEAD ? QUERY_HEADS / KV_HEAD_QUERY_HEADS : K_SCALES;
        value_scale = scaleAt(V_SCALES, of_k, kv_head);
    }
}

// The factor of q . k. It is a macro because chains of calls must be short (docs/kernel_rules.md, "Chains of calls").
#define SCORE_SCALE                                                                                                    \
    (K_SCALES != VKF_SCALES_NONE || TYPE_K == VKF_STORED_F8_E4M3 ? params.score_scale * key_scale : params.score_scale)

// The factor of a row of o, multiplied by the number of v.
#define SCALED_VALUES(factor)                                                                                          \
    (V_SCALES != VKF_SCALES_NONE || TYPE_V == VKF_STORED_F8_E4M3 ? (factor)*value_scale : (factor))

#endif
