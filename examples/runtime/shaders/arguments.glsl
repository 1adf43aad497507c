// SPDX-License-Identifier: MIT
//
// Arguments of all kernels. Each kernel uses some of them. kernels.hpp has them in C++.
#extension GL_EXT_buffer_reference : require

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats {
    float at[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Ints {
    int at[];
};

layout(push_constant, std430) uniform Arguments {
    Floats weight;
    Floats source;
    Floats target;
    Ints tokens;  // all tokens of the sequence; the first row of a step is at lengths.at[0]
    Ints lengths;
    uint width;   // columns of a row of source; for embed, of target
    uint outputs; // columns of a row of target
    uint rows;
    uint add;     // 1 = add to the content of target
};
