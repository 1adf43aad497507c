// SPDX-License-Identifier: MIT
//
// target = silu(gate) * up. A row of source holds the row of gate and then the row of up.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "arguments.glsl"

layout(local_size_x = 64) in;

void main() {
    uint row = gl_WorkGroupID.y;
    uint column = gl_GlobalInvocationID.x;
    if (column < outputs) {
        float gate = source.at[row * width + column];
        float up = source.at[row * width + outputs + column];
        target.at[row * outputs + column] = gate / (1.0 + exp(-gate)) * up;
    }
}
