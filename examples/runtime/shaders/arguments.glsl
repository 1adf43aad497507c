// SPDX-License-Identifier: MIT
//
// Arguments of all kernels; each uses some. In C++ they are in kernels.hpp.
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
    Ints tokens;  // all of the sequence; a step's first row stands at lengths.at[0]
    Ints lengths;
    uint width;   // of a row of source; of embed, of target
    uint outputs; // of a row of target
    uint rows;
    uint add;     // to what target holds
};
