// SPDX-License-Identifier: MIT
//
// Merges partial results from any source by the formula of merge_rows.glsl. A partial result is o with its lse. Its m
// is the lse. Its l is 1, or 0 if it saw no key. A workgroup takes ROWS rows, and 4 LANES columns of them from column 4
// LANES gl_WorkGroupID.y on.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "common/compilers.glsl"
#include "shared/merge_params.h"
#include "shared/stored_types.h"

layout(local_size_x_id = VKF_MERGE_ID_WORKGROUP_SIZE) in;

layout(constant_id = VKF_MERGE_ID_WORKGROUP_SIZE) const uint WORKGROUP_SIZE = 64;
layout(constant_id = VKF_MERGE_ID_LANES) const uint LANES = 8;
layout(constant_id = VKF_MERGE_ID_GROUPS) const uint MERGE_GROUPS = 1;
layout(constant_id = VKF_MERGE_ID_AT_ONCE) const uint AT_ONCE = 4;
layout(constant_id = VKF_MERGE_ID_TYPE_PARTIAL) const uint TYPE_PARTIAL = VKF_STORED_F32;
layout(constant_id = VKF_MERGE_ID_TYPE_O) const uint TYPE_O = VKF_STORED_F32;
layout(constant_id = VKF_MERGE_ID_LSE) const bool HAS_LSE = false;

layout(push_constant, std430) uniform PushConstants {
    MergeParams params;
};

#include "common/address64.glsl"
#include "common/element.glsl"
#define VKF_UNIT_IS_GIVEN
layout(constant_id = VKF_MERGE_ID_BASE_E) const bool BASE_E_SCORES = true;
#include "scores/units.glsl"

#define INFINITY uintBitsToFloat(0x7f800000u)

struct PartialResults {
    uvec2 lse;   // address of the row's lse in partial result 0
    uvec2 row;   // address of the row's o in partial result 0
    uint column; // the first of four
};

// Some libraries give a row without visible keys an lse of +infinity.
vec2 loadState(const PartialResults partials, const uint i) {
    float lse = uintBitsToFloat(Word(add64(partials.lse, multiply64(i, params.lse_partial_stride))).value);
    return abs(lse) == INFINITY ? vec2(MINUS_INFINITY, 0.0) : vec2(lse, 1.0);
}

vec4 loadOutput(const PartialResults partials, const uint i) {
    uvec2 row = add64(partials.row, multiply64(i, params.partial_stride));
    if (isAligned4(row, 0, TYPE_PARTIAL) && partials.column + 4 <= params.dim) {
        return loadAligned4(add64(row, uvec2(partials.column * elementBytes(TYPE_PARTIAL), 0)), TYPE_PARTIAL);
    }
    return loadRow4(row, partials.column, params.dim, TYPE_PARTIAL);
}

#include "merge/merge_rows.glsl"

uvec2 rowOf(const uvec2 base, const uvec2 batch_stride, const uvec2 head_stride, const uvec2 row_stride,
            const uint index) {
    uint head = index / params.rows;
    uvec2 address = add64(base, multiply64(head / params.heads, batch_stride));
    address = add64(address, multiply64(head % params.heads, head_stride));
    return add64(address, multiply64(index % params.rows, row_stride));
}

void main() {
    uint index =
        VKF_ROW_OF_ITEM(params.first_item + gl_WorkGroupID.x, ROWS, gl_LocalInvocationIndex / (LANES * MERGE_GROUPS));
    uint group = gl_LocalInvocationIndex / LANES % MERGE_GROUPS;
    uint column = (gl_WorkGroupID.y * LANES + gl_LocalInvocationIndex % LANES) * 4;
    bool exists = index < params.row_count && column < params.dim;
    PartialResults partials;
    partials.lse = add64(params.partial_lse, multiply64(index, 4));
    partials.row = rowOf(params.partials, params.partial_batch_stride, params.partial_head_stride,
                         params.partial_row_stride, index);
    partials.column = column;
    mergeRow(partials, exists, group, params.partial_count);
    if (!exists || group != 0) {
        return;
    }
    uvec2 row = rowOf(params.o, params.o_batch_stride, params.o_head_stride, params.o_row_stride, index);
    storeRow4(row, column, params.dim, TYPE_O, isAligned4(row, 0, TYPE_O), mergedOutput());
    if (HAS_LSE && column == 0) {
        float lse = lseOfState(toNatural(m), l);
        Word(add64(params.lse, multiply64(index, 4))).value = floatBitsToUint(lse);
    }
}
