// SPDX-License-Identifier: MIT
//
// Merges the partial results that key splits left in scratch memory, by the formula of merge_rows.glsl, m in units of
// log2. Partial results are dense fp32 [batch, split, heads, rows, columns], columns padded to whole words of four.
// params.q is their address, params.k that of their (m, l).
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "common/compilers.glsl"
#include "common/params.glsl"
#include "common/address.glsl"
#include "common/element.glsl"
#include "scores/final_score.glsl"
#include "scores/sink.glsl"

layout(constant_id = VKF_ID_MERGE_GROUPS) const uint MERGE_GROUPS = 1;

const uint WORDS = (VALUE_DIM + 3) / 4;
const uint ROW_PIECES = (WORDS + LANES - 1) / LANES; // each merged as a row of its own

struct Place {
    uint first; // partial result of split 0
    uint step;  // from split to split
    uint word;
};

vec2 loadState(const Place place, const uint split) {
    return uintBitsToFloat(Word2(add64(params.k, multiply64(place.first + split * place.step, 8))).value);
}

vec4 loadPart(const Place place, const uint split) {
    uvec2 address = add64(params.q, multiply64(place.first + split * place.step, WORDS * 16));
    return uintBitsToFloat(Word4(add64(address, uvec2(place.word * 16, 0))).value);
}

float power(const float x) {
    return exp2(x);
}

#include "merge/merge_rows.glsl"

void main() {
    uint heads = params.heads & 0xffffu;
    uint index = (params.first_item + gl_WorkGroupID.x) * ROWS + gl_LocalInvocationIndex / (LANES * MERGE_GROUPS);
    uint group = gl_LocalInvocationIndex / LANES % MERGE_GROUPS;
    uint word = index % ROW_PIECES * LANES + gl_LocalInvocationIndex % LANES;
    index /= ROW_PIECES;
    uint row = index % params.query_rows;
    uint head = index / params.query_rows % heads;
    uint batch = index / params.query_rows / heads;
    bool exists = batch < params.keys && word < WORDS; // keys: the number of sequences, in this kernel
    uint split_parts = heads * params.query_rows;
    Place place = Place(batch * SPLITS * split_parts + head * params.query_rows + row, split_parts, word);
    mergeRow(place, exists, group, SPLITS);
    if (!exists || group != 0) {
        return;
    }
    if (HAS_SINKS) {
        vec3 ended = withSink(head, m, l);
        m = ended.x;
        l = ended.y;
        o *= ended.z;
    }
    uvec2 o_head = headAddress(params.o, VKF_O, batch, head);
    storeRow4(rowAddress(o_head, VKF_O, row), word * 4, VALUE_DIM, TYPE_O,
              isAligned4(o_head, params.row_stride[VKF_O], TYPE_O), mergedOutput());
    if (HAS_LSE && word == 0) {
        float lse = l == 0.0 ? MINUS_INFINITY : (m + log2(l)) * LN2;
        Word(add64(params.lse, multiply64(index, 4))).value = floatBitsToUint(lse);
    }
}
