// SPDX-License-Identifier: MIT
//
// Rows of the shared array `staged` to blocks of q8_0 and q4_0, the same bytes as vkfQuantizeBlocks makes. Eight
// invocations write a block. Each looks at all of it, which is faster than an exchange between them.
//
// Needs: cache/round16.glsl, common/element.glsl, the shared array `staged`. Provides: storeBlockPiece.
#ifndef VKF_QUANTIZE_GLSL
#define VKF_QUANTIZE_GLSL

bool isFiniteNumber(const float x) {
    return (floatBitsToUint(x) & FP32_INFINITY) != FP32_INFINITY;
}

// a / b rounded to nearest, by long division: a device's own may be off by some units in the last place. Both are
// positive; 0 where a or the quotient is below the normal numbers.
float divideRounded(const float a, const float b) {
    uint dividend = (floatBitsToUint(a) & 0x7fffffu) | 0x800000u;
    uint divisor = (floatBitsToUint(b) & 0x7fffffu) | 0x800000u;
    int exponent = int(floatBitsToUint(a) >> 23) - int(floatBitsToUint(b) >> 23) + 127;
    if (dividend < divisor) {
        dividend <<= 1;
        exponent--;
    }
    uint quotient = 0;
    for (uint bit = 0; bit < 25; bit++) {
        bool fits = dividend >= divisor;
        quotient = quotient << 1 | uint(fits);
        dividend = (fits ? dividend - divisor : dividend) << 1;
    }
    uint above = uint(dividend != 0) | (quotient >> 1 & 1u); // past half, or odd
    uint significand = (quotient >> 1) + (quotient & above & 1u);
    int bits = (exponent << 23) + int(significand) - 0x800000;
    return floatBitsToUint(a) < 0x800000u || exponent < 0 || bits < 0x800000 ? 0.0 : intBitsToFloat(bits);
}

struct Scaling {
    uint scale;    // bits of fp16
    float inverse; // of the scale in fp32; 0 makes zeros
    bool finite;
};

// The scale of the 32 elements from `first` on.
Scaling scalingOf(const uint first, const uint type) {
    float largest = 0.0; // with its sign
    bool finite = true;
    for (uint e = 0; e < VKF_BLOCK_ELEMENTS; e++) {
        float x = staged[first + e];
        finite = finite && isFiniteNumber(x);
        largest = abs(x) > abs(largest) ? x : largest;
    }
    if (!finite) {
        return Scaling(0x7e00u, 0.0, false);
    }
    if (type == VKF_STORED_Q8_0) {
        float scale = divideRounded(abs(largest), 127.0);
        return Scaling(roundF16(scale), scale == 0.0 ? 0.0 : divideRounded(1.0, scale), true);
    }
    float scale = abs(largest) * 0.125;
    float inverse = scale < uintBitsToFloat(0x800000u) ? 0.0 : divideRounded(1.0, scale);
    uint sign = ~floatBitsToUint(largest) & 0x80000000u; // the scale's is the opposite
    return Scaling(roundF16(scale) | sign >> 16, uintBitsToFloat(floatBitsToUint(inverse) | sign), true);
}

// Halves are rounded away from zero.
uint codeQ8(const float x, const Scaling scaling) {
    precise float steps = x * scaling.inverse;
    float whole = trunc(steps);
    int code = int(whole) + (abs(steps - whole) >= 0.5 ? (steps < 0.0 ? -1 : 1) : 0);
    return scaling.finite ? uint(code) & 0xffu : 0;
}

uint codeQ4(const float x, const Scaling scaling) {
    precise float steps = x * scaling.inverse;
    precise float moved = steps + 8.5;
    return scaling.finite ? min(uint(moved), 15u) : 0;
}

#ifdef VKF_STORAGE_16BIT
void storeHalf(const uvec2 address, const uint bytes, uint value) {
    HalfWord(add64(address, uvec2(bytes, 0))).value = uint16_t(value);
}

// Stores piece 0 to 7 of a block's codes; piece 0 stores the scale too.
void storeBlockPiece(const uvec2 block, const uint type, const uint first, const uint piece) {
    Scaling scaling = scalingOf(first, type);
    if (piece == 0) {
        storeHalf(block, 0, scaling.scale);
    }
    if (type == VKF_STORED_Q8_0) {
        for (uint half_word = 0; half_word < 2; half_word++) {
            uint e = piece * 4 + half_word * 2;
            storeHalf(block, VKF_BLOCK_CODES_AT(VKF_STORED_Q8_0) + e,
                      codeQ8(staged[first + e], scaling) | codeQ8(staged[first + e + 1], scaling) << 8);
        }
        return;
    }
    uint e = piece * 2;
    storeHalf(block, VKF_BLOCK_CODES_AT(VKF_STORED_Q4_0) + e,
              codeQ4(staged[first + e], scaling) | codeQ4(staged[first + e + 16], scaling) << 4 |
                  codeQ4(staged[first + e + 1], scaling) << 8 | codeQ4(staged[first + e + 17], scaling) << 12);
}
#endif

#endif
