// SPDX-License-Identifier: MIT
//
// Joins the parts that splits of the keys left in scratch: each part is o divided by its own l, with its
// lse; together they are
//
//     lse = ln sum exp(lse_i)        o = sum exp(lse_i - lse) o_i
//
// (the merge of two states of the online softmax, Milakov and Gimelshein 2018), in the order of the
// splits, so that a call gives the same bits each time. Parts are dense fp32 [batch, split, heads, rows,
// columns], columns padded to whole words of four; params.q is their address, params.k that of their lse.
//
// An invocation joins four columns of one row; LANES invocations, a power of two, share a row.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "params.glsl"
#include "address.glsl"
#include "element.glsl"
#include "final_score.glsl"

const uint ROWS = WORKGROUP_SIZE / LANES; // of a workgroup
const uint WORDS = (VALUE_DIM + 3) / 4;

float partLse(uint part) {
    return uintBitsToFloat(Word(add64(params.k, multiply64(part, 4))).value);
}

void main() {
    uint heads = params.heads & 0xffffu;
    uint index = (params.first_item + gl_WorkGroupID.x) * ROWS + gl_LocalInvocationIndex / LANES;
    uint word = gl_LocalInvocationIndex % LANES;
    uint row = index % params.query_rows;
    uint head = index / params.query_rows % heads;
    uint batch = index / params.query_rows / heads;
    if (batch >= params.keys || word >= WORDS) { // keys: the number of sequences, in this kernel
        return;
    }
    uint split_parts = heads * params.query_rows;
    uint part = batch * SPLITS * split_parts + head * params.query_rows + row;

    float m = MINUS_INFINITY;
    for (uint split = 0; split < SPLITS; split++) {
        m = max(m, partLse(part + split * split_parts));
    }
    float l = 0.0;
    vec4 o = vec4(0.0);
    for (uint split = 0; split < SPLITS; split++) {
        float lse = partLse(part + split * split_parts);
        if (lse == MINUS_INFINITY) {
            continue; // no visible key: its o is 0 and counts for nothing
        }
        float weight = exp(lse - m);
        uvec2 address = add64(params.q, multiply64(part + split * split_parts, WORDS * 16));
        l += weight;
        o += weight * uintBitsToFloat(Word4(add64(address, uvec2(word * 16, 0))).value);
    }
    uvec2 o_head = headAddress(params.o, VKF_O, batch, head);
    storeRow4(rowAddress(o_head, VKF_O, row), word * 4, VALUE_DIM, TYPE_O,
              isAligned4(o_head, params.row_stride[VKF_O], TYPE_O), l == 0.0 ? vec4(0.0) : o / l);
    if (HAS_LSE && word == 0) {
        float lse = l == 0.0 ? MINUS_INFINITY : m + log(l);
        Word(add64(params.lse, multiply64(index, 4))).value = floatBitsToUint(lse);
    }
}
