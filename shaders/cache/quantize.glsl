// SPDX-License-Identifier: MIT
//
// Rows of the shared array `staged` to blocks, with the bytes that vkfQuantizeBlocks makes. Eight invocations write a
// block. Each looks at all of it, which is faster than an exchange between them.
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
    uint above = uint(dividend != 0) | ((quotient >> 1) & 1u); // past half, or odd
    uint significand = (quotient >> 1) + (quotient & above & 1u);
    int bits = (exponent << 23) + int(significand) - 0x800000;
    return floatBitsToUint(a) < 0x800000u || exponent < 0 || bits < 0x800000 ? 0.0 : intBitsToFloat(bits);
}

// x / scale, rounded to nearest, as fp8 types need it: infinity and NaN stay, and finite numbers stay finite.
float dividedBy(const float scale, const float x) {
    const uint many = 120u << 23; // no quotient of a larger exponent is below the largest fp8 numbers
    uint magnitude = floatBitsToUint(x) & 0x7fffffffu;
    uint sign = floatBitsToUint(x) & 0x80000000u;
    uint quotient = magnitude > floatBitsToUint(scale) + many
                        ? 0x7f7fffffu
                        : floatBitsToUint(divideRounded(uintBitsToFloat(magnitude), scale));
    return uintBitsToFloat(sign | (magnitude >= FP32_INFINITY ? magnitude : quotient));
}

// The code of the fp8 number that is nearest to x, of two the even one. A number past the largest one becomes it, and
// so does an infinity in e4m3, which has none.
uint roundFp8(const float x, const uint type) {
    const bool e5m2 = type == VKF_STORED_F8_E5M2;
    const uint bits = e5m2 ? 2 : 3;      // of the mantissa
    const uint least = e5m2 ? 113 : 121; // exponent of the smallest normal number, as in fp32
    const uint largest = e5m2 ? 0x7bu : 0x7eu;
    uint sign = (floatBitsToUint(x) >> 24) & 0x80u;
    uint magnitude = floatBitsToUint(x) & 0x7fffffffu;
    if (magnitude >= FP32_INFINITY) {
        return sign | (magnitude > FP32_INFINITY ? (e5m2 ? 0x7eu : 0x7fu) : e5m2 ? 0x7cu : largest);
    }
    if (magnitude >= least << 23) {
        return sign | min(shiftRounded(magnitude, 23 - bits) - ((least - 1) << bits), largest);
    }
    uint shift = least + 23 - bits - (magnitude >> 23); // to steps of the smallest number
    return shift > 24u ? sign : sign | shiftRounded((magnitude & 0x7fffffu) | 0x800000u, shift);
}

// Integers in the order of floats, for bits of floats. Both zeros are 0. A compiler may replace a comparison of floats
// and a choice by a minimum, which need not return the first of two zeros. A device may take floats below the normal
// numbers for 0.
int orderOf(const uint x) {
    int bits = int(x);
    return bits < 0 ? int(0x80000000u) - bits : bits;
}

uint magnitudeOf(const uint bits) {
    return bits & 0x7fffffffu;
}

// Blocks whose elements are all below 2^-32 are lifted: their arithmetic is that of elements times 2^64. No number that
// decides a code is below the normal numbers then, and the roundings are those of fp32 with such numbers.
const uint MIN_UNLIFTED = 95u << 23; // bits of 2^-32
const uint LIFT = 64u << 23;

// The float of these bits, times 2^64 if it is lifted.
float liftedFloat(const uint bits, const bool lifts) {
    uint magnitude = magnitudeOf(bits);
    uint lifted = magnitude < 0x800000u ? floatBitsToUint(float(magnitude) * uintBitsToFloat(42u << 23)) // 2^(64 - 149)
                                        : magnitude + LIFT;
    return uintBitsToFloat(lifts ? lifted | (bits & 0x80000000u) : bits);
}

// How elements become codes: (x - minimum) * inverse.
struct Scaling {
    uint scale;          // bits of fp16
    uint stored_minimum; // bits of fp16
    float minimum;       // 0 if the type has none
    float inverse;       // of the scale in fp32; 0 makes zeros
    bool lifts;          // minimum and inverse belong to lifted elements
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

// The scale's magnitude in fp32.
float scaleOf(const float range, const uint type) {
    if (middleCode(type) != 0.0) {
        return range * (type == VKF_STORED_Q4_0 ? 0.125 : 0.0625);
    }
    const bool to_127 = type == VKF_STORED_Q8_0 || type == VKF_STORED_IQ4_NL;
    return divideRounded(range, to_127 ? 127.0 : float(largestCode(type)));
}

// 1 / scale, or 0 if the scale is below the normal numbers.
float inverseOf(const float scale, const bool lifts, const uint type) {
    uint normal = lifts ? 65u << 23 : 0x800000u; // bits of the least normal number
    // fp32 rounds an eighth or a sixteenth halfway between 2^-126 and the number before it to 2^-126. Lifted, it has
    // bits of its own. No other quotient lies so near to 2^-126.
    bool rounds = lifts && middleCode(type) != 0.0 && floatBitsToUint(scale) == normal - 1;
    uint bits = rounds ? normal : floatBitsToUint(scale);
    return bits < normal ? 0.0 : divideRounded(1.0, uintBitsToFloat(bits));
}

// The scaling of the 32 elements from `first` on.
Scaling scalingOf(const uint first, const uint type) {
    uint largest = 0; // bits of the element, with its sign
    uint least = floatBitsToUint(staged[first]);
    uint most = least;
    for (uint e = 0; e < VKF_BLOCK_ELEMENTS; e++) {
        uint x = floatBitsToUint(staged[first + e]);
        largest = magnitudeOf(x) > magnitudeOf(largest) ? x : largest;
        least = orderOf(x) < orderOf(least) ? x : least;
        most = orderOf(x) > orderOf(most) ? x : most;
    }
    bool lifts = magnitudeOf(largest) < MIN_UNLIFTED;
    bool has_minimum = VKF_BLOCK_HAS_MINIMUM(type);
    float minimum = liftedFloat(least, lifts);
    precise float range = has_minimum ? liftedFloat(most, lifts) - minimum : abs(liftedFloat(largest, lifts));
    if (magnitudeOf(largest) >= FP32_INFINITY || !isFiniteNumber(range)) { // NaN has the largest magnitude
        return Scaling(0x7e00u, 0, 0.0, 0.0, false, false);
    }
    float scale = scaleOf(range, type);
    uint sign = largestIsFirst(type) ? ~largest & 0x80000000u : 0;
    float inverse = uintBitsToFloat(floatBitsToUint(inverseOf(scale, lifts, type)) | sign);
    // fp16 has no number near the scale of a lifted block but 0.
    return Scaling((lifts ? 0 : roundF16(scale)) | sign >> 16, has_minimum ? roundF16(uintBitsToFloat(least)) : 0,
                   has_minimum ? minimum : 0.0, inverse, lifts, true);
}

float elementOf(const float x, const Scaling scaling) {
    return liftedFloat(floatBitsToUint(x), scaling.lifts);
}

// The code of x as a signed byte. Halves are rounded away from zero.
uint codeQ8(const float x, const Scaling scaling) {
    precise float steps = elementOf(x, scaling) * scaling.inverse;
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
    precise float steps = (elementOf(x, scaling) - scaling.minimum) * scaling.inverse;
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
        storeHalf(block, 2, scaling.stored_minimum);
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
        codes |= (codeOf(staged[first + e], scaling, type) & 15u) << (nibble * 4);
    }
    storeHalf(block, VKF_BLOCK_CODES_AT(type) + piece * 2, codes);
}
#endif

#endif
