// SPDX-License-Identifier: MIT
//
// Converts fp32 to fp16 and bf16 in integer arithmetic: to nearest, ties to even. Every device gives the same bits.
// packHalf2x16 would not: Vulkan leaves its rounding to the driver. A finite value past the largest 16-bit number
// becomes the largest one.
//
// Needs: shared/stored_types.h. Provides: FP32_INFINITY, roundF16, roundBf16, roundWords.
#ifndef VKF_ROUND16_GLSL
#define VKF_ROUND16_GLSL

#define FP32_INFINITY 0x7f800000u

// value / 2^shift, rounded to nearest, ties to even; `shift` is 1 to 24.
uint shiftRounded(const uint value, const uint shift) {
    return (value + (1u << (shift - 1)) - 1u + (value >> shift & 1u)) >> shift;
}

uint roundF16(const float x) {
    uint sign = floatBitsToUint(x) >> 16 & 0x8000u;
    uint magnitude = floatBitsToUint(x) & 0x7fffffffu;
    if (magnitude >= FP32_INFINITY) {
        return sign | (magnitude == FP32_INFINITY ? 0x7c00u : 0x7e00u);
    }
    if (magnitude >= 113u << 23) { // normal in fp16 too
        return sign | min(shiftRounded(magnitude, 13) - (112u << 10), 0x7bffu);
    }
    uint shift = 126u - (magnitude >> 23); // to steps of 2^-24
    return shift > 24u ? sign : sign | shiftRounded((magnitude & 0x7fffffu) | 0x800000u, shift);
}

uint roundBf16(const float x) {
    uint sign = floatBitsToUint(x) >> 16 & 0x8000u;
    uint magnitude = floatBitsToUint(x) & 0x7fffffffu;
    if (magnitude >= FP32_INFINITY) {
        return sign | (magnitude == FP32_INFINITY ? 0x7f80u : 0x7fc0u);
    }
    return sign | min(shiftRounded(magnitude, 16), 0x7f7fu);
}

// Four elements as they are stored, in the form of packWords (common/element.glsl).
uvec4 roundWords(const vec4 x, const uint type) {
    if (type == VKF_STORED_F32) {
        return floatBitsToUint(x);
    }
    uvec4 bits = type == VKF_STORED_F16 ? uvec4(roundF16(x.x), roundF16(x.y), roundF16(x.z), roundF16(x.w))
                                        : uvec4(roundBf16(x.x), roundBf16(x.y), roundBf16(x.z), roundBf16(x.w));
    return uvec4(bits.x | bits.y << 16, bits.z | bits.w << 16, 0, 0);
}

#endif
