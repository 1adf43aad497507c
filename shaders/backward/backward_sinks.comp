// SPDX-License-Identifier: MIT
//
// The gradient of the sinks: dsinks[h] = - sum over sequences and rows of 2^(sink[h] - lse) delta. A workgroup takes
// one head. Each invocation adds up its rows in their order, and a tree in shared memory adds up the invocations.
//
// Rows that belong to no sequence have no meaning, so the kernel goes through the sequences.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "common/compilers.glsl"
#include "shared/backward_params.h"
#define VKF_PUSH_CONSTANTS BackwardRowsParams
#include "common/params.glsl"

const uint TILE_ROWS = 1;

#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "scores/units.glsl"
#include "softmax/stored_state.glsl"
#include "backward/backward_table.glsl"

shared float sums[WORKGROUP_SIZE];

void main() {
    uint head = params.first_item + gl_WorkGroupID.x;
    uint thread = gl_LocalInvocationIndex;
    CallTable table = VKF_BACKWARD_TABLE.call;
    uvec2 position = uvec2(head * 4, 0);
    float sink = toScoreUnit(uintBitsToFloat(Word(add64(table.sinks, position)).value));
    float sum = 0.0;
    KEEP_LOOP for (uint sequence = 0; sequence < table.sequences; sequence++) {
        Item item = itemOfSequence(sequence);
        item.head = head;
        KEEP_LOOP for (uint row = thread; row < item.rows; row += WORKGROUP_SIZE) {
            vec2 state = loadRowState(params.row_state, item, row);
            if (state.x != PLUS_INFINITY) {
                sum -= power(sink - state.x) * state.y;
            }
        }
    }
    sums[thread] = sum;
    // The workgroup's size need not be a power of two.
    KEEP_LOOP for (uint count = WORKGROUP_SIZE; count > 1; count = (count + 1) / 2) {
        barrier();
        if (thread < count / 2) {
            sums[thread] += sums[thread + (count + 1) / 2];
        }
    }
    if (thread == 0) {
        Word(add64(VKF_BACKWARD_TABLE.dsinks, position)).value = floatBitsToUint(sums[0]);
    }
}
