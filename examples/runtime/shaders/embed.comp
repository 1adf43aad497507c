// SPDX-License-Identifier: MIT
//
// target = the row of weight for each token.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "arguments.glsl"

layout(local_size_x = 64) in;

void main() {
    uint row = gl_WorkGroupID.y;
    uint column = gl_GlobalInvocationID.x;
    if (column < width) {
        int token = tokens.at[lengths.at[0] + row];
        target.at[row * width + column] = weight.at[token * width + column];
    }
}
