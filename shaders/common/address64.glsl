// SPDX-License-Identifier: MIT
//
// 64-bit addresses as uvec2 (low, high), so that no device needs shaderInt64.
#ifndef VKF_ADDRESS64_GLSL
#define VKF_ADDRESS64_GLSL

#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Word {
    uint value;
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Word2 {
    uvec2 value;
};
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Word4 {
    uvec4 value;
};

// A 64-bit number times 2^bits; `bits` is 1 to 31.
#define SHIFT64(number, bits) uvec2((number).x << (bits), ((number).y << (bits)) | ((number).x >> (32 - (bits))))

uvec2 add64(const uvec2 a, const uvec2 b) {
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

uvec2 multiply64(const uint a, const uint b) {
    uint low, high;
    umulExtended(a, b, high, low);
    return uvec2(low, high);
}

uvec2 multiply64(const uint a, const uvec2 b) {
    uvec2 product = multiply64(a, b.x);
    return uvec2(product.x, product.y + a * b.y);
}

#endif
