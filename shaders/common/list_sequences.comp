// SPDX-License-Identifier: MIT
//
// Writes the number of the sequence for each tile of packed sequences (VKF_FIRST_SEQUENCE_TILE in shared/work_items.h).
// A workgroup handles one sequence at a time. The first sequence also takes all tiles before its own, and the last one
// all tiles after its own. So every entry is written, whatever the lengths are.
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

uint firstTile(const uint sequence) {
    uvec2 address = add64(params.starts, multiply64(sequence, 4));
    uint first_row = uint(clamp(int(Word(address).value), 0, int(params.count)));
    return VKF_FIRST_SEQUENCE_TILE(first_row, params.packed_heads, params.tile_rows, sequence);
}

void main() {
    KEEP_LOOP for (uint sequence = gl_WorkGroupID.x; sequence < params.sequences; sequence += gl_NumWorkGroups.x) {
        uint begin = sequence == 0 ? 0 : firstTile(sequence);
        uint end = sequence + 1 == params.sequences ? params.tile_count : firstTile(sequence + 1);
        KEEP_LOOP for (uint tile = begin + gl_LocalInvocationIndex; tile < end; tile += gl_WorkGroupSize.x) {
            Word(add64(params.tile_sequences, multiply64(tile, 4))).value = sequence;
        }
    }
}
