// SPDX-License-Identifier: MIT
//
// Writes the number of the sequence to each slot of packed sequences (VKF_FIRST_SLOT in shared/work_items.h). A
// workgroup handles one sequence at a time. The first sequence also takes all slots before its own, and the last one
// all slots after its own. So every slot is written, whatever the lengths are.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "common/compilers.glsl"
#include "shared/call_table.h"

layout(local_size_x = 64) in;

layout(push_constant, std430) uniform PushConstants {
    SequenceList params;
};

#include "common/address64.glsl"

uint firstSlot(const uint sequence) {
    uvec2 address = add64(params.starts, multiply64(sequence, 4));
    uint first_row = uint(clamp(int(Word(address).value), 0, int(params.count)));
    return VKF_FIRST_SLOT(first_row, params.packed_heads, params.tile_rows, sequence);
}

void main() {
    KEEP_LOOP for (uint sequence = gl_WorkGroupID.x; sequence < params.sequences; sequence += gl_NumWorkGroups.x) {
        uint begin = sequence == 0 ? 0 : firstSlot(sequence);
        uint end = sequence + 1 == params.sequences ? params.slot_count : firstSlot(sequence + 1);
        KEEP_LOOP for (uint slot = begin + gl_LocalInvocationIndex; slot < end; slot += gl_WorkGroupSize.x) {
            Word(add64(params.slots, multiply64(slot, 4))).value = sequence;
        }
    }
}
