// SPDX-License-Identifier: MIT
//
// The first step of the backward pass (Dao 2023, arXiv 2307.08691, algorithm 2, line 4): delta = rowsum(dout o), less
// the gradient of lse. The kernel writes the state of each row (shared/backward_params.h), so that the kernels after it
// load lse and delta at once.
//
// STATE_LANES invocations share a row. Each of them adds up some words of four columns. A tree in shared memory adds up
// the lanes.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "common/compilers.glsl"
#include "shared/backward_params.h"
#define VKF_PUSH_CONSTANTS BackwardRowsParams
#define VKF_LANES_ID VKF_ID_STATE_LANES
#include "common/params.glsl"

layout(constant_id = VKF_ID_SEQUENCES) const uint SEQUENCES = 1;
layout(constant_id = VKF_ID_TYPE_DOUT) const uint TYPE_DOUT = VKF_STORED_F32;
layout(constant_id = VKF_ID_DLSE) const bool HAS_DLSE = false;
const uint TILE_ROWS = 1;

#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "scores/units.glsl"
#include "softmax/stored_state.glsl"
#include "backward/backward_table.glsl"

const uint ROWS = WORKGROUP_SIZE / LANES; // of a workgroup

shared float sums[WORKGROUP_SIZE];

// The part of dot(dout, o) of one lane.
float dotOfLane(const uint batch, const uint head, const uint row, const uint lane) {
    uvec2 o_head = headAddress(params.o, VKF_STATE_O, batch, head);
    uvec2 dout_head = headAddress(params.dout, VKF_STATE_DOUT, batch, head);
    uvec2 o = rowAddress(o_head, VKF_STATE_O, row);
    uvec2 dout = rowAddress(dout_head, VKF_STATE_DOUT, row);
    bool vectors = VALUE_DIM % 4 == 0 && isAligned4(o, 0, TYPE_O) && isAligned4(dout, 0, TYPE_DOUT);
    float sum = 0.0;
    for (uint column = lane * 4; column < VALUE_DIM; column += LANES * 4) {
        vec4 x, y;
        if (vectors) {
            x = loadAligned4(add64(o, uvec2(column * elementBytes(TYPE_O), 0)), TYPE_O);
            y = loadAligned4(add64(dout, uvec2(column * elementBytes(TYPE_DOUT), 0)), TYPE_DOUT);
        } else {
            x = loadRow4(o, column, VALUE_DIM, TYPE_O);
            y = loadRow4(dout, column, VALUE_DIM, TYPE_DOUT);
        }
        sum += dot(x, y);
    }
    return sum;
}

void main() {
    uint lane = gl_LocalInvocationIndex % LANES;
    uint number = VKF_ROW_OF_ITEM(params.first_item + gl_WorkGroupID.x, ROWS, gl_LocalInvocationIndex / LANES);
    uint head = number / params.query_rows;
    uint batch = head / QUERY_HEADS;
    bool exists = batch < SEQUENCES;
    uvec2 bytes = multiply64(number, 4);
    float lse = exists ? uintBitsToFloat(Word(add64(params.lse, bytes)).value) : PLUS_INFINITY;
    bool empty = abs(lse) == PLUS_INFINITY;
    sums[gl_LocalInvocationIndex] =
        empty ? 0.0 : dotOfLane(batch, head - batch * QUERY_HEADS, number - head * params.query_rows, lane);
    for (uint distance = LANES / 2; distance > 0; distance /= 2) {
        barrier();
        if (lane < distance) {
            sums[gl_LocalInvocationIndex] += sums[gl_LocalInvocationIndex + distance];
        }
    }
    if (exists && lane == 0) {
        float dlse = HAS_DLSE && !empty ? uintBitsToFloat(Word(add64(params.dlse, bytes)).value) : 0.0;
        vec2 state = empty ? vec2(PLUS_INFINITY, 0.0) : vec2(toScoreUnit(lse), sums[gl_LocalInvocationIndex] - dlse);
        state = mix(state, vec2(uintBitsToFloat(0x7fc00000u)), isnan(state)); // a NaN that survives rounding to bf16
        Word2(add64(params.row_state, SHIFT64(bytes, 1))).value = floatBitsToUint(state);
    }
}
