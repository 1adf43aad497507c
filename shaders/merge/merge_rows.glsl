// SPDX-License-Identifier: MIT
//
// The merge of the partial results of a row. Partial result i has m_i, l_i, and o_i already divided by l_i. The merged
// result is
//
//     m = max m_i        l = sum exp(m_i - m) l_i        o = sum exp(m_i - m) l_i o_i / l
//
// These are lines 9, 10, 12 and 13 of algorithm 1 of FlashAttention-2 (Dao 2023), with partial results instead of tiles
// of keys. The method is known from Flash-Decoding, and from the merge of softmax states (Milakov and Gimelshein 2018).
// The order of the sums depends only on the number of partial results, so a call gives the same bits each time.
//
// An invocation holds four columns of one row. LANES invocations, a power of two, hold a row. MERGE_GROUPS such groups
// share the partial results of a row, and each invocation loads AT_ONCE of them at once. At the end the first group
// adds the sums of all groups. A merge has little to compute: it waits for loads, and for instructions that run once.
// So AT_ONCE is no larger than one iteration of the loop needs (lab/log-0.4.md, "The merge").
//
// The entry file declares:
// - specialization constants WORKGROUP_SIZE, LANES, MERGE_GROUPS and AT_ONCE
// - struct PartialResults, which says where the partial results of a row lie
// - loadState(partials, i): m and l of partial result i. If it saw no key, l = 0, and no other m is smaller.
// - loadOutput(partials, i): four columns of its o
#ifndef VKF_MERGE_ROWS_GLSL
#define VKF_MERGE_ROWS_GLSL

#include "softmax/row_state.glsl"

// Whether the bits of the result must not depend on how many partial results without keys follow the others.
layout(constant_id = VKF_MERGE_ID_FIXED_ORDER) const bool FIXED_ORDER = false;

const uint ROWS = WORKGROUP_SIZE / LANES / MERGE_GROUPS; // rows of a workgroup

shared vec2 state_stage[WORKGROUP_SIZE];
shared vec4 o_stage[WORKGROUP_SIZE];

float m = MINUS_INFINITY; // running maximum
float l = 0.0;
vec4 o = vec4(0.0);

// exp(m_i - m) l_i; 0 for a partial result that saw no key, whatever its m is.
float rescaledSum(const vec2 state) {
    return state.y == 0.0 ? 0.0 : rescaleFactor(state.x, m) * state.y;
}

// Lines 9 and 10: adds AT_ONCE of `count` partial results: `first`, first + MERGE_GROUPS, ... There is nothing to load
// of a row that does not exist.
void addPartialResults(const PartialResults partials, const bool exists, const uint first, const uint count) {
    vec2 state[AT_ONCE];
    vec4 partial_o[AT_ONCE];
    IF_KEEPING_LOADS_HERE (exists) { // else the compiler loads o only when it has the states
        UNROLL for (uint i = 0; i < AT_ONCE; i++) {
            partial_o[i] = loadOutput(partials, min(first + i * MERGE_GROUPS, count - 1));
        }
        UNROLL for (uint i = 0; i < AT_ONCE; i++) {
            state[i] = loadState(partials, min(first + i * MERGE_GROUPS, count - 1));
        }
    } else {
        UNROLL for (uint i = 0; i < AT_ONCE; i++) {
            partial_o[i] = vec4(0.0);
            state[i] = emptyState();
        }
    }
    const vec2 before = vec2(m, l);
    UNROLL for (uint i = 0; i < AT_ONCE; i++) {
        state[i].y = first + i * MERGE_GROUPS < count ? state[i].y : 0.0;
        if (FIXED_ORDER) { // else the last state also counts in the maximum of other groups
            state[i].x = first + i * MERGE_GROUPS < count ? state[i].x : MINUS_INFINITY;
        }
        m = max(m, state[i].x);
    }
    const float factor = factorInJoin(before, m);
    l *= factor;
    o *= factor;
    UNROLL for (uint i = 0; i < AT_ONCE; i++) {
        float sum = rescaledSum(state[i]);
        l += sum;
        o += state[i].y == 0.0 ? vec4(0.0) : sum * partial_o[i];
    }
}

// Adds up the states of all groups of a row, in the first group.
void joinGroups(const uint group, const uint lane_of_row) {
    state_stage[gl_LocalInvocationIndex] = vec2(m, l);
    o_stage[gl_LocalInvocationIndex] = o;
    barrier();
    if (group != 0) {
        return;
    }
    vec2 state[MERGE_GROUPS];
    UNROLL for (uint g = 0; g < MERGE_GROUPS; g++) {
        state[g] = state_stage[lane_of_row + g * LANES];
        m = max(m, state[g].x);
    }
    l = 0.0;
    o = vec4(0.0);
    UNROLL for (uint g = 0; g < MERGE_GROUPS; g++) {
        float factor = factorInJoin(state[g], m);
        l += factor * state[g].y;
        o += factor * o_stage[lane_of_row + g * LANES];
    }
}

// Merges the `count` partial results of a row, in all groups. Then the first group has m, l and o of the row.
void mergeRow(const PartialResults partials, const bool exists, const uint group, const uint count) {
    KEEP_LOOP for (uint first = group; first < count; first += MERGE_GROUPS * AT_ONCE) {
        addPartialResults(partials, exists, first, count);
    }
    if (MERGE_GROUPS > 1) {
        joinGroups(group, gl_LocalInvocationIndex);
    }
}

// Line 12.
vec4 mergedOutput() {
    return o * inverseOfSum(l);
}

#endif
