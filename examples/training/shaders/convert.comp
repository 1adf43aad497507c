// SPDX-License-Identifier: MIT
//
// narrow = factor wide, rounded to fp16, or wide = factor narrow. An invocation converts one number.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 64) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Halves { float16_t at[]; };

layout(push_constant, std430) uniform Arguments {
    Floats wide;
    Halves narrow;
    uint count;
    uint widens; // 0 = write narrow
    float factor;
};

void main() {
    const uint index = gl_GlobalInvocationID.x;
    if (index >= count) {
        return;
    }
    if (widens != 0) {
        wide.at[index] = factor * float(narrow.at[index]);
    } else {
        narrow.at[index] = float16_t(factor * wide.at[index]);
    }
}
