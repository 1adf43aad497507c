// SPDX-License-Identifier: MIT
//
// The merge of partial results of a row: each is o divided by its own l, with its m and l. Together they are
//
//     m = max m_i        l = sum exp(m_i - m) l_i        o = sum exp(m_i - m) l_i o_i / l
//
// This is lines 9, 10, 12 and 13 of FlashAttention-2's algorithm 1 (Dao 2023), with a partial result in the place of a
// tile of keys (Flash-Decoding; the merge of states of the online softmax, Milakov and Gimelshein 2018). The number of
// partial results fixes the order, so that a call gives the same bits each time.
//
// An invocation has four columns of one row. LANES invocations, a power of two, hold a row. MERGE_GROUPS such groups
// share the partial results of a row, and the first group adds up what they have. Several partial results are in flight
// at once, because a merge waits for loads.
//
// Needs: constants WORKGROUP_SIZE, LANES and MERGE_GROUPS; MINUS_INFINITY; Place, where the partial results of a row
// lie; loadState(place, i), m and l of partial result i, l = 0 if it saw no key; loadPart(place, i), four columns of
// its o; power(x), the exponential in units of m.
// Provides: ROWS, m, l, o, mergeRow, mergedOutput.
#ifndef VKF_MERGE_ROWS_GLSL
#define VKF_MERGE_ROWS_GLSL

const uint ROWS = WORKGROUP_SIZE / LANES / MERGE_GROUPS; // of a workgroup

shared vec2 state_stage[WORKGROUP_SIZE];
shared vec4 o_stage[WORKGROUP_SIZE];

float m = MINUS_INFINITY; // running maximum
float l = 0.0;
vec4 o = vec4(0.0);

// Lines 9 and 10: brings l and o to a new m.
void raise(const float to) {
    float factor = l == 0.0 ? 0.0 : power(m - to);
    l *= factor;
    o *= factor;
    m = to;
}

// exp(m_i - m) l_i; 0 for a partial result that saw no key, whatever its m.
float weightOf(const vec2 state) {
    return state.y == 0.0 ? 0.0 : power(state.x - m) * state.y;
}

// Adds VKF_MERGED_AT_ONCE partial results: `first`, first + MERGE_GROUPS, ...
void addParts(const Place place, const uint first, const uint parts) {
    vec2 state[VKF_MERGED_AT_ONCE];
    vec4 part[VKF_MERGED_AT_ONCE];
    UNROLL for (uint i = 0; i < VKF_MERGED_AT_ONCE; i++) {
        uint index = min(first + i * MERGE_GROUPS, parts - 1);
        state[i] = loadState(place, index);
        part[i] = loadPart(place, index);
    }
    float m_new = m; // 9
    UNROLL for (uint i = 0; i < VKF_MERGED_AT_ONCE; i++) {
        state[i] = first + i * MERGE_GROUPS < parts ? state[i] : vec2(0.0);
        m_new = state[i].y == 0.0 ? m_new : max(m_new, state[i].x);
    }
    raise(m_new);
    UNROLL for (uint i = 0; i < VKF_MERGED_AT_ONCE; i++) {
        float weight = weightOf(state[i]);
        l += weight; // 9
        o += state[i].y == 0.0 ? vec4(0.0) : weight * part[i]; // 10
    }
}

// Joins the states of the groups of a row, in the first group.
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

// Merges all partial results of a row, by all groups; afterwards the first group has its m, l and o.
void mergeRow(const Place place, const bool exists, const uint group, const uint parts) {
    if (exists) {
        for (uint first = group; first < parts; first += MERGE_GROUPS * VKF_MERGED_AT_ONCE) {
            addParts(place, first, parts);
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
