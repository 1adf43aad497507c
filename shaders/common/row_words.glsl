// SPDX-License-Identifier: MIT
//
// A row in device memory as words of 16 bytes, or as single 16-bit elements.
#ifndef VKF_ROW_WORDS_GLSL
#define VKF_ROW_WORDS_GLSL

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Words {
    uvec4 word[];
};

// The bits of a 16-bit element of a row of `dim` elements; 0 past the end of the row.
uint halfAt(const uvec2 row_address, const uint column, const uint dim) {
    return column < dim ? uint(HalfRow(row_address).element[column]) : 0u;
}

#endif
