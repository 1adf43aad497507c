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
// share the partial results of a row. At the end the first group adds the sums of all groups. An invocation loads
// several partial results at once, because a merge spends its time waiting for loads.
//
// Needs:
// - specialization constants WORKGROUP_SIZE, LANES and MERGE_GROUPS; MINUS_INFINITY
// - struct Place, which says where the partial results of a row lie
// - loadState(place, i): m and l of partial result i; l = 0 if it saw no key
// - loadOutput(place, i): four columns of its o
// - power(x): the exponential in units of m
//
// Provides: ROWS, m, l, o, mergeRow, mergedOutput.
#ifndef VKF_MERGE_ROWS_GLSL
#define VKF_MERGE_ROWS_GLSL

const uint ROWS = WORKGROUP_SIZE / LANES / MERGE_GROUPS; // rows of a workgroup

shared vec2 state_stage[WORKGROUP_SIZE];
shared vec4 o_stage[WORKGROUP_SIZE];

float m = MINUS_INFINITY; // running maximum
float l = 0.0;
vec4 o = vec4(0.0);

// Lines 9 and 10: rescales l and o to a new m.
void raise(const float to) {
    float factor = l == 0.0 ? 0.0 : power(m - to);
    l *= factor;
    o *= factor;
    m = to;
}

// exp(m_i - m) l_i; 0 for a partial result that saw no key, whatever its m is.
float rescaledSum(const vec2 state) {
    return state.y == 0.0 ? 0.0 : power(state.x - m) * state.y;
}

// Adds VKF_MERGED_AT_ONCE of `count` partial results: `first`, first + MERGE_GROUPS, ...
void addPartialResults(const Place place, const uint first, const uint count) {
    vec2 state[VKF_MERGED_AT_ONCE];
    vec4 partial_o[VKF_MERGED_AT_ONCE];
    UNROLL for (uint i = 0; i < VKF_MERGED_AT_ONCE; i++) {
        uint index = min(first + i * MERGE_GROUPS, count - 1);
        state[i] = loadState(place, index);
        partial_o[i] = loadOutput(place, index);
    }
    float m_new = m; // 9
    UNROLL for (uint i = 0; i < VKF_MERGED_AT_ONCE; i++) {
        state[i] = first + i * MERGE_GROUPS < count ? state[i] : vec2(0.0);
        m_new = state[i].y == 0.0 ? m_new : max(m_new, state[i].x);
    }
    raise(m_new);
    UNROLL for (uint i = 0; i < VKF_MERGED_AT_ONCE; i++) {
        float sum = rescaledSum(state[i]);
        l += sum;                                                // 9
        o += state[i].y == 0.0 ? vec4(0.0) : sum * partial_o[i]; // 10
    }
}

// Adds the states of all groups of a row, in the first group.
void joinGroups(const uint group, const uint lane_of_row) {
    state_stage[gl_LocalInvocationIndex] = vec2(m, l);
    o_stage[gl_LocalInvocationIndex] = o;
    barrier();
    if (group != 0) {
        return;
    }
    float m_new = m;
    for (uint g = 1; g < MERGE_GROUPS; g++) {
        vec2 state = state_stage[lane_of_row + g * LANES];
        m_new = state.y == 0.0 ? m_new : max(m_new, state.x);
    }
    raise(m_new);
    for (uint g = 1; g < MERGE_GROUPS; g++) {
        vec2 state = state_stage[lane_of_row + g * LANES];
        float factor = state.y == 0.0 ? 0.0 : power(state.x - m);
        l += factor * state.y;
        o += factor * o_stage[lane_of_row + g * LANES];
    }
}

// Merges the `count` partial results of a row, in all groups. Then the first group has m, l and o of the row.
void mergeRow(const Place place, const bool exists, const uint group, const uint count) {
    if (exists) {
        for (uint first = group; first < count; first += MERGE_GROUPS * VKF_MERGED_AT_ONCE) {
            addPartialResults(place, first, count);
        }
    }
    if (MERGE_GROUPS > 1) {
        joinGroups(group, gl_LocalInvocationIndex);
    }
}

// Line 12.
vec4 mergedOutput() {
    return l == 0.0 ? vec4(0.0) : o / l;
}

#endif
