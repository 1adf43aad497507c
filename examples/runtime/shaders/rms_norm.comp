// SPDX-License-Identifier: MIT
//
// target = source / root mean square(source) * weight, row by row.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "arguments.glsl"

layout(local_size_x = 64) in;

shared float sums[64];

void main() {
    uint begin = gl_WorkGroupID.y * width;
    float sum = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < width; i += 64) {
        sum += source.at[begin + i] * source.at[begin + i];
    }
    sums[gl_LocalInvocationIndex] = sum;
    barrier();
    sum = 0.0;
    for (uint i = 0; i < 64; i++) {
        sum += sums[i];
    }
    float factor = inversesqrt(sum / float(width) + 1e-5);
    for (uint i = gl_LocalInvocationIndex; i < width; i += 64) {
        target.at[begin + i] = source.at[begin + i] * factor * weight.at[i];
    }
}
