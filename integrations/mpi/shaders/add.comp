// SPDX-License-Identifier: MIT
//
// Adds an array of fp32 numbers to another one.
#version 460
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 256) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats {
    float at[];
};

layout(push_constant, std430) uniform Arguments {
    Floats sum;
    Floats addend;
    uint count;
    uint stride; // invocations of the dispatch
};

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < count; i += stride) {
        sum.at[i] += addend.at[i];
    }
}
