// SPDX-License-Identifier: MIT
//
// Rows of the shared array `staged` to blocks, the same bytes as vkfQuantizeBlocks makes. Eight invocations write a
// block. Each looks at all of it, which is faster than an exchange between them.
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

// Integers in the order of floats. Both zeros are 0. A compiler may replace a comparison of floats and a choice by a
// minimum, which need not return the first of two zeros.
int orderOf(const float x) {
    int bits = floatBitsToInt(x);
    return bits < 0 ? int(0x80000000u) - bits : bits;
}

// How elements become codes: (x - minimum) * inverse.
struct Scaling {
    uint scale;    // bits of fp16
    float minimum; // 0 if the type has none
    float inverse; // of the scale in fp32; 0 makes zeros
    bool finite;
};

// The largest element has code 0 in these types. The scale then has the opposite sign.
bool largestIsFirst(const uint type) {
    return type == VKF_STORED_Q4_0 || type == VKF_STORED_Q5_0 || type == VKF_STORED_IQ4_NL;
}

// Codes of q4_0 and q5_0 lie around this one. 0 for other types.
float middleCode(const uint type) {
    return type == VKF_STORED_Q4_0 ? 8.0 : type == VKF_STORED_Q5_0 ? 16.0 : 0.0;
}

// The largest code of 4 or 5 bits.
uint largestCode(const uint type) {
    return VKF_BLOCK_HAS_FIFTH_BITS(type) ? 31u : 15u;
}

// The scale's magnitude in fp32. Where it is below the normal numbers, it may be 0.
float scaleOf(const float range, const uint type) {
    if (middleCode(type) != 0.0) {
        return range * (type == VKF_STORED_Q4_0 ? 0.125 : 0.0625);
    }
    const bool to_127 = type == VKF_STORED_Q8_0 || type == VKF_STORED_IQ4_NL;
    return divideRounded(range, to_127 ? 127.0 : float(largestCode(type)));
}

// The scaling of the 32 elements from `first` on.
Scaling scalingOf(const uint first, const uint type) {
    float largest = 0.0; // with its sign
    float least = staged[first];
    float most = least;
    bool finite = true;
    for (uint e = 0; e < VKF_BLOCK_ELEMENTS; e++) {
        float x = staged[first + e];
        finite = finite && isFiniteNumber(x);
        largest = abs(x) > abs(largest) ? x : largest;
        least = orderOf(x) < orderOf(least) ? x : least;
        most = orderOf(x) > orderOf(most) ? x : most;
    }
    precise float range = VKF_BLOCK_HAS_MINIMUM(type) ? most - least : abs(largest);
    if (!finite || !isFiniteNumber(range)) {
        return Scaling(0x7e00u, 0.0, 0.0, false);
    }
    float scale = scaleOf(range, type);
    float inverse = scale < uintBitsToFloat(0x800000u) ? 0.0 : divideRounded(1.0, scale);
    uint sign = largestIsFirst(type) ? ~floatBitsToUint(largest) & 0x80000000u : 0;
    return Scaling(roundF16(scale) | sign >> 16, VKF_BLOCK_HAS_MINIMUM(type) ? least : 0.0,
                   uintBitsToFloat(floatBitsToUint(inverse) | sign), true);
}

// The code of x as a signed byte. Halves are rounded away from zero.
uint codeQ8(const float x, const Scaling scaling) {
    precise float steps = x * scaling.inverse;
    float whole = trunc(steps);
    int code = int(whole) + (abs(steps - whole) >= 0.5 ? (steps < 0.0 ? -1 : 1) : 0);
    return scaling.finite ? uint(code) & 0xffu : 0;
}

// The code of the number that is nearest to `steps`, of two the larger: how many middles between neighbours `steps`
// reaches.
uint nearestNumber(const float steps) {
    const int numbers[16] = int[](VKF_IQ4_NL_NUMBERS);
    uint code = 0;
    for (uint i = 0; i < 15; i++) {
        code += uint(steps >= 0.5 * float(numbers[i] + numbers[i + 1]));
    }
    return code;
}

// The code of x in 4 or 5 bits. Halves are rounded up.
uint codeOf(const float x, const Scaling scaling, const uint type) {
    precise float steps = (x - scaling.minimum) * scaling.inverse;
    if (type == VKF_STORED_IQ4_NL) {
        return scaling.finite ? nearestNumber(steps) : 0;
    }
    precise float moved = steps + (middleCode(type) + 0.5);
    return scaling.finite ? min(uint(moved), largestCode(type)) : 0;
}

#ifdef VKF_STORAGE_16BIT
void storeHalf(const uvec2 address, const uint bytes, uint value) {
    HalfWord(add64(address, uvec2(bytes, 0))).value = uint16_t(value);
}

// Fifth bits of the 16 elements from `first` on.
uint fifthBitsFrom(const uint first, const Scaling scaling, const uint type) {
    uint bits = 0;
    for (uint e = 0; e < 16; e++) {
        bits |= codeOf(staged[first + e], scaling, type) >> 4 << e;
    }
    return bits;
}

// Stores piece 0 to 7 of a block's codes. The first pieces store what precedes the codes too.
void storeBlockPiece(const uvec2 block, const uint type, const uint first, const uint piece) {
    Scaling scaling = scalingOf(first, type);
    if (piece == 0) {
        storeHalf(block, 0, scaling.scale);
    }
    if (VKF_BLOCK_HAS_MINIMUM(type) && piece == 0) {
        storeHalf(block, 2, roundF16(scaling.minimum));
    }
    if (VKF_BLOCK_HAS_FIFTH_BITS(type) && piece < 2) {
        storeHalf(block, VKF_BLOCK_FIFTH_BITS_AT(type) + piece * 2, fifthBitsFrom(first + piece * 16, scaling, type));
    }
    if (type == VKF_STORED_Q8_0) {
        for (uint half_word = 0; half_word < 2; half_word++) {
            uint e = piece * 4 + half_word * 2;
            storeHalf(block, VKF_BLOCK_CODES_AT(type) + e,
                      codeQ8(staged[first + e], scaling) | codeQ8(staged[first + e + 1], scaling) << 8);
        }
        return;
    }
    uint codes = 0;
    for (uint nibble = 0; nibble < 4; nibble++) {
        uint e = piece * 2 + nibble / 2 + nibble % 2 * 16;
        codes |= (codeOf(staged[first + e], scaling, type) & 15u) << nibble * 4;
    }
    storeHalf(block, VKF_BLOCK_CODES_AT(type) + piece * 2, codes);
}
#endif

#endif
