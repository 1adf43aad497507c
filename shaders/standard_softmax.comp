// SPDX-License-Identifier: MIT
//
// Unfused attention, second of three passes: each row of S becomes a row of P, in place, and lse is
// written. S stands in the place of o. One workgroup works on one row (LANES = WORKGROUP_SIZE,
// THREAD_ROWS = 1). Keys that the row does not see become DROPPED.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "params.glsl"
#include "scalar_tile.glsl"
#include "address.glsl"
#include "element.glsl"
#include "item.glsl"
#include "mask.glsl"
#include "final_score.glsl"
#include "dropped.glsl"

shared float m_lane[WORKGROUP_SIZE];
shared float l_lane[WORKGROUP_SIZE];

float loadScore(uvec2 row_address, uint key) {
    return uintBitsToFloat(Word(add64(row_address, uvec2(key * 4, 0))).value);
}

// Merges the lanes' states (m, l) in pairs, in a fixed order, into lane 0.
void mergeLanes(uint lane) {
    for (uint distance = WORKGROUP_SIZE / 2; distance > 0; distance /= 2) {
        barrier();
        if (lane < distance) {
            float m = max(m_lane[lane], m_lane[lane + distance]);
            float safe = m == MINUS_INFINITY ? 0.0 : m;
            l_lane[lane] = l_lane[lane] * exp2(m_lane[lane] - safe) +
                           l_lane[lane + distance] * exp2(m_lane[lane + distance] - safe);
            m_lane[lane] = m;
        }
    }
    barrier();
}

void main() {
    uint lane = gl_LocalInvocationIndex;
    Item item = itemOf(params.first_item + gl_WorkGroupID.x);
    uint row = item.row_begin;
    uvec2 address = rowAddress(headAddress(params.o, VKF_O, item.batch, item.head), VKF_O, row);
    ivec2 visible = visibleKeys(item, row);

    float m = MINUS_INFINITY;
    float l = 0.0;
    for (uint key = uint(visible.x) + lane; int(key) < visible.y; key += WORKGROUP_SIZE) {
        float s = loadScore(address, key);
        float m_new = max(m, s);
        float safe = m_new == MINUS_INFINITY ? 0.0 : m_new;
        l = l * exp2(m - safe) + exp2(s - safe);
        m = m_new;
    }
    m_lane[lane] = m;
    l_lane[lane] = l;
    mergeLanes(lane);
    m = m_lane[0];
    l = l_lane[0];

    float safe = m == MINUS_INFINITY ? 0.0 : m;
    float factor = l == 0.0 ? 0.0 : 1.0 / l;
    for (uint key = lane; key < params.keys; key += WORKGROUP_SIZE) {
        float p = DROPPED;
        if (isVisible(visible, key) && factor != 0.0) {
            p = exp2(loadScore(address, key) - safe) * factor;
        }
        Word(add64(address, uvec2(key * 4, 0))).value = floatBitsToUint(p);
    }
    if (HAS_LSE && lane == 0) {
        storeLse(item, row, m, l);
    }
}
