// SPDX-License-Identifier: MIT
//
// Joins the parts that splits of the keys left in scratch: each part is o divided by its own l, with its m
// and l; together they are
//
//     m = max m_i        l = sum 2^(m_i - m) l_i        o = sum 2^(m_i - m) l_i o_i / l
//
// (the merge of states of the online softmax, Milakov and Gimelshein 2018), in an order that the number of
// splits fixes, so that a call gives the same bits each time. Parts are dense fp32 [batch, split, heads, rows,
// columns], columns padded to whole words of four; params.q is their address, params.k that of their (m, l).
//
// An invocation has four columns of one row. LANES of them, a power of two, hold a row; MERGE_GROUPS such
// groups share the parts of a row, and the first adds up what they have. Parts are loaded some at a time, all
// in flight at once: what this kernel costs is waiting.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "params.glsl"
#include "address.glsl"
#include "element.glsl"
#include "final_score.glsl"

layout(constant_id = VKF_ID_MERGE_GROUPS) const uint MERGE_GROUPS = 1;

const uint ROWS = WORKGROUP_SIZE / LANES / MERGE_GROUPS; // of a workgroup
const uint WORDS = (VALUE_DIM + 3) / 4;

shared vec2 state_stage[WORKGROUP_SIZE];
shared vec4 o_stage[WORKGROUP_SIZE];

float m = MINUS_INFINITY; // largest so far
float l = 0.0;
vec4 o = vec4(0.0);

// Brings l and o to a new m.
void raise(float to) {
    float factor = l == 0.0 ? 0.0 : exp2(m - to);
    l *= factor;
    o *= factor;
    m = to;
}

// What a part counts. One without a visible key counts nothing, whatever its m.
float weightOf(vec2 state) {
    return state.y == 0.0 ? 0.0 : exp2(state.x - m) * state.y;
}

// Parts `first`, first + MERGE_GROUPS, ... of the row, VKF_MERGED_AT_ONCE of them.
void addParts(uint row_part, uint split_parts, uint first, uint word) {
    vec2 state[VKF_MERGED_AT_ONCE];
    vec4 part[VKF_MERGED_AT_ONCE];
    [[unroll]] for (uint i = 0; i < VKF_MERGED_AT_ONCE; i++) {
        uint split = min(first + i * MERGE_GROUPS, SPLITS - 1);
        uint index = row_part + split * split_parts;
        state[i] = uintBitsToFloat(Word2(add64(params.k, multiply64(index, 8))).value);
        uvec2 address = add64(params.q, multiply64(index, WORDS * 16));
        part[i] = uintBitsToFloat(Word4(add64(address, uvec2(word * 16, 0))).value);
    }
    float largest = m;
    [[unroll]] for (uint i = 0; i < VKF_MERGED_AT_ONCE; i++) {
        state[i] = first + i * MERGE_GROUPS < SPLITS ? state[i] : vec2(0.0);
        largest = state[i].y == 0.0 ? largest : max(largest, state[i].x);
    }
    raise(largest);
    [[unroll]] for (uint i = 0; i < VKF_MERGED_AT_ONCE; i++) {
        float weight = weightOf(state[i]);
        l += weight;
        o += state[i].y == 0.0 ? vec4(0.0) : weight * part[i];
    }
}

// What the groups of a row have becomes one, in the first.
void joinGroups(uint group, uint lane_of_row) {
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
        float factor = state.y == 0.0 ? 0.0 : exp2(state.x - m);
        l += factor * state.y;
        o += factor * o_stage[lane_of_row + g * LANES];
    }
}

void main() {
    uint heads = params.heads & 0xffffu;
    uint index = (params.first_item + gl_WorkGroupID.x) * ROWS + gl_LocalInvocationIndex / (LANES * MERGE_GROUPS);
    uint group = gl_LocalInvocationIndex / LANES % MERGE_GROUPS;
    uint word = gl_LocalInvocationIndex % LANES;
    uint row = index % params.query_rows;
    uint head = index / params.query_rows % heads;
    uint batch = index / params.query_rows / heads;
    bool exists = batch < params.keys && word < WORDS; // keys: the number of sequences, in this kernel
    if (exists) {
        uint split_parts = heads * params.query_rows;
        uint row_part = batch * SPLITS * split_parts + head * params.query_rows + row;
        for (uint split = group; split < SPLITS; split += MERGE_GROUPS * VKF_MERGED_AT_ONCE) {
            addParts(row_part, split_parts, split, word);
        }
    }
    if (MERGE_GROUPS > 1) {
        joinGroups(group, gl_LocalInvocationIndex);
    }
    if (!exists || group != 0) {
        return;
    }
    uvec2 o_head = headAddress(params.o, VKF_O, batch, head);
    storeRow4(rowAddress(o_head, VKF_O, row), word * 4, VALUE_DIM, TYPE_O,
              isAligned4(o_head, params.row_stride[VKF_O], TYPE_O), l == 0.0 ? vec4(0.0) : o / l);
    if (HAS_LSE && word == 0) {
        float lse = l == 0.0 ? MINUS_INFINITY : (m + log2(l)) * LN2;
        Word(add64(params.lse, multiply64(index, 4))).value = floatBitsToUint(lse);
    }
}
