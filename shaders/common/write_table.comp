// SPDX-License-Identifier: MIT
//
// Writes a piece of the table of a call (shared/call_table.h).
#version 460
#extension GL_GOOGLE_include_directive : require

#include "shared/call_table.h"

layout(local_size_x = 32) in;

layout(push_constant, std430) uniform PushConstants {
    TableBatch piece;
};

#include "common/address64.glsl"

void main() {
    uint index = gl_LocalInvocationIndex;
    if (index < VKF_TABLE_BATCH_WORDS) {
        Word(add64(piece.to, uvec2(index * 4, 0))).value = piece.word[index];
    }
}
