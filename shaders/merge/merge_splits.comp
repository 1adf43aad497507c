// SPDX-License-Identifier: MIT
//
// Merges the partial results of key splits by the formula of merge_rows.glsl. The attention kernel left them in scratch
// memory. scores/units.glsl has the unit of m.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "shared/merge_params.h"
#include "shared/stored_types.h"

layout(local_size_x_id = VKF_MERGE_ID_WORKGROUP_SIZE) in;

layout(constant_id = VKF_MERGE_ID_WORKGROUP_SIZE) const uint WORKGROUP_SIZE = 64;
layout(constant_id = VKF_MERGE_ID_LANES) const uint LANES = 8;
layout(constant_id = VKF_MERGE_ID_GROUPS) const uint MERGE_GROUPS = 1;
layout(constant_id = VKF_MERGE_ID_AT_ONCE) const uint AT_ONCE = 4;
layout(constant_id = VKF_MERGE_ID_TYPE_O) const uint TYPE_O = VKF_STORED_F32;
layout(constant_id = VKF_MERGE_ID_LSE) const bool HAS_LSE = false;
layout(constant_id = VKF_MERGE_ID_DIM) const uint DIM = 64;
layout(constant_id = VKF_MERGE_ID_KEY_SPLITS) const uint KEY_SPLITS = 1;
layout(constant_id = VKF_MERGE_ID_SINKS) const bool HAS_SINKS = false;
layout(constant_id = VKF_MERGE_ID_BASE_E) const bool BASE_E_SCORES = false; // m is in base e

layout(push_constant, std430) uniform PushConstants {
    SplitMergeParams params;
};

#define VKF_SINKS_ADDRESS params.sinks
#define VKF_UNIT_IS_GIVEN

#include "common/compilers.glsl"
#include "common/address64.glsl"
#include "common/element.glsl"
#include "scores/units.glsl"
#include "softmax/finish.glsl"

const uint WORDS = (DIM + 3) / 4;
const uint ROW_PIECES = (WORDS + LANES - 1) / LANES; // pieces of a row; each is merged like a row

struct PartialResults {
    uint first; // number of the row of split 0, among the rows of all partial results
    uint step;  // rows from one split to the next
    uint word;  // which four columns
};

vec2 loadState(const PartialResults partials, const uint split) {
    return uintBitsToFloat(
        Word2(add64(params.partial_state, multiply64(partials.first + split * partials.step, 8))).value);
}

vec4 loadOutput(const PartialResults partials, const uint split) {
    uvec2 address = add64(params.partial_o, multiply64(partials.first + split * partials.step, WORDS * 16));
    return uintBitsToFloat(Word4(add64(address, uvec2(partials.word * 16, 0))).value);
}

#include "merge/merge_rows.glsl"

void main() {
    uint index =
        VKF_ROW_OF_ITEM(params.first_item + gl_WorkGroupID.x, ROWS, gl_LocalInvocationIndex / (LANES * MERGE_GROUPS));
    uint group = gl_LocalInvocationIndex / LANES % MERGE_GROUPS;
    uint word = index % ROW_PIECES * LANES + gl_LocalInvocationIndex % LANES;
    index /= ROW_PIECES;
    uint head = index;
    uint row = 0;
    if (params.rows > 1) { // one row of one sequence needs no divisions
        head = index / params.rows;
        row = index - head * params.rows;
    }
    uint batch = 0;
    if (params.row_count > params.heads * params.rows) {
        batch = head / params.heads;
        head -= batch * params.heads;
    }
    bool exists = index < params.row_count && word < WORDS;
    uint split_rows = params.heads * params.rows;
    PartialResults partials =
        PartialResults(VKF_ROW_OF_SPLITS(batch, KEY_SPLITS, split_rows, head, params.rows, row), split_rows, word);
    mergeRow(partials, exists, group, KEY_SPLITS);
    if (!exists || group != 0) {
        return;
    }
    FinishedRow finished = finishRow(head, m, l);
    l = finished.l;
    uvec2 o_row = add64(params.o, multiply64(batch, params.o_batch_stride));
    o_row = add64(o_row, multiply64(head, params.o_head_stride));
    o_row = add64(o_row, multiply64(row, params.o_row_stride));
    storeRow4(o_row, word * 4, DIM, TYPE_O, isAligned4(o_row, 0, TYPE_O), mergedOutput());
    if (HAS_LSE && word == 0) {
        Word(add64(params.lse, multiply64(index, 4))).value = floatBitsToUint(finished.lse);
    }
}
