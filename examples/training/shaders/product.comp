// SPDX-License-Identifier: MIT
//
// target = left right, or target -= descent_rate left right. An invocation computes one number of target.
#version 460
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 64) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats {
    float at[];
};

layout(push_constant, std430) uniform Arguments {
    Floats left;
    Floats right;
    Floats target;
    uvec2 left_strides; // of rows, of columns
    uvec2 right_strides;
    uint rows;
    uint inner;
    uint columns;
    float descent_rate; // 0 = replace target
};

void main() {
    const uint index = gl_GlobalInvocationID.x;
    if (index >= rows * columns) {
        return;
    }
    float sum = 0.0;
    for (uint i = 0; i < inner; i++) {
        sum += left.at[index / columns * left_strides.x + i * left_strides.y] *
               right.at[i * right_strides.x + index % columns * right_strides.y];
    }
    target.at[index] = descent_rate == 0.0 ? sum : target.at[index] - descent_rate * sum;
}
