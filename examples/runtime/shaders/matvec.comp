// SPDX-License-Identifier: MIT
//
// target = weight * source, row by row. A workgroup computes one number.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "arguments.glsl"

layout(local_size_x = 64) in;

shared float sums[64];

void main() {
    uint output_index = gl_WorkGroupID.x;
    uint row = gl_WorkGroupID.y;
    float sum = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < width; i += 64) {
        sum += weight.at[output_index * width + i] * source.at[row * width + i];
    }
    sums[gl_LocalInvocationIndex] = sum;
    barrier();
    if (gl_LocalInvocationIndex == 0) {
        uint index = row * outputs + output_index;
        sum = add != 0 ? target.at[index] : 0.0;
        for (uint i = 0; i < 64; i++) {
            sum += sums[i];
        }
        target.at[index] = sum;
    }
}
