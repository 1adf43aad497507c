// SPDX-License-Identifier: MIT
//
// The merge of parts of rows: each part is o divided by its own l, with its m and l; together they are
//
//     m = max m_i        l = sum e^(m_i - m) l_i        o = sum e^(m_i - m) l_i o_i / l
//
// (the merge of states of the online softmax, Milakov and Gimelshein 2018), in an order that the number of
// parts fixes, so that a call gives the same bits each time.
//
// An invocation has four columns of one row. LANES of them, a power of two, hold a row; MERGE_GROUPS such
// groups share the parts of a row, and the first adds up what they have. Parts are loaded some at a time, all
// in flight at once: what a merge costs is waiting.
//
// The entry file defines before it includes this: constants WORKGROUP_SIZE, LANES and MERGE_GROUPS; Place,
// where the parts of a row lie; loadState(place, part), m and l, l = 0 if nothing is visible; loadPart(place,
// part), four columns; power(x), the exponential in units of m.
#ifndef VKF_MERGE_ROWS_GLSL
#define VKF_MERGE_ROWS_GLSL

const uint ROWS = WORKGROUP_SIZE / LANES / MERGE_GROUPS; // of a workgroup

shared vec2 state_stage[WORKGROUP_SIZE];
shared vec4 o_stage[WORKGROUP_SIZE];

float m = MINUS_INFINITY; // largest so far
float l = 0.0;
vec4 o = vec4(0.0);

// Brings l and o to a new m.
void raise(const float to) {
    float factor = l == 0.0 ? 0.0 : power(m - to);
    l *= factor;
    o *= factor;
    m = to;
}

// What a part counts. One without a visible key counts nothing, whatever its m.
float weightOf(const vec2 state) {
    return state.y == 0.0 ? 0.0 : power(state.x - m) * state.y;
}

// Parts `first`, first + MERGE_GROUPS, ... of `parts`, VKF_MERGED_AT_ONCE of them.
void addParts(const Place place, const uint first, const uint parts) {
    vec2 state[VKF_MERGED_AT_ONCE];
    vec4 part[VKF_MERGED_AT_ONCE];
    UNROLL for (uint i = 0; i < VKF_MERGED_AT_ONCE; i++) {
        uint index = min(first + i * MERGE_GROUPS, parts - 1);
        state[i] = loadState(place, index);
        part[i] = loadPart(place, index);
    }
    float largest = m;
    UNROLL for (uint i = 0; i < VKF_MERGED_AT_ONCE; i++) {
        state[i] = first + i * MERGE_GROUPS < parts ? state[i] : vec2(0.0);
        largest = state[i].y == 0.0 ? largest : max(largest, state[i].x);
    }
    raise(largest);
    UNROLL for (uint i = 0; i < VKF_MERGED_AT_ONCE; i++) {
        float weight = weightOf(state[i]);
        l += weight;
        o += state[i].y == 0.0 ? vec4(0.0) : weight * part[i];
    }
}

// What the groups of a row have becomes one, in the first.
void joinGroups(const uint group, const uint lane_of_row) {
    state_stage[gl_LocalInvocationIndex] = vec2(m, l);
    o_stage[gl_LocalInvocationIndex] = o;
    barrier();
    if (group != 0) {
        return;
    }
    float largest = m;
    for (uint g = 1; g < MERGE_GROUPS; g++) {
        vec2 state = state_stage[lane_of_row + g * LANES];
        largest = state.y == 0.0 ? largest : max(largest, state.x);
    }
    raise(largest);
    for (uint g = 1; g < MERGE_GROUPS; g++) {
        vec2 state = state_stage[lane_of_row + g * LANES];
        float factor = state.y == 0.0 ? 0.0 : power(state.x - m);
        l += factor * state.y;
        o += factor * o_stage[lane_of_row + g * LANES];
    }
}

// All parts of a row, by all groups; afterwards the first has its m, l and o.
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

vec4 mergedOutput() {
    return l == 0.0 ? vec4(0.0) : o / l;
}

#endif
