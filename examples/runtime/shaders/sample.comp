// SPDX-License-Identifier: MIT
//
// Appends the most likely token after the last row to the sequence. Stores the logits of that row under its position.
// Runs as one workgroup.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "arguments.glsl"

layout(local_size_x = 64) in;

void main() {
    uint position = uint(lengths.at[0]) + rows - 1;
    uint begin = (rows - 1) * width;
    for (uint i = gl_LocalInvocationIndex; i < width; i += 64) {
        target.at[position * width + i] = source.at[begin + i];
    }
    if (gl_LocalInvocationIndex == 0) {
        uint best = 0;
        for (uint i = 1; i < width; i++) {
            best = source.at[begin + i] > source.at[begin + best] ? i : best;
        }
        tokens.at[position + 1] = int(best);
    }
}
