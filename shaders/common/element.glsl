// SPDX-License-Identifier: MIT
//
// Converts stored elements to fp32 and back. fp32 always works. Loads and stores of single fp16 and bf16 elements need
// VKF_STORAGE_16BIT. The conversions are integer arithmetic, packHalf2x16 and unpackHalf2x16, so that no device needs
// fp16 arithmetic.
#ifndef VKF_ELEMENT_GLSL
#define VKF_ELEMENT_GLSL

#ifdef VKF_STORAGE_16BIT
#extension GL_EXT_shader_16bit_storage : require
layout(buffer_reference, std430, buffer_reference_align = 2) buffer HalfWord {
    uint16_t value;
};
layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer HalfRow {
    uint16_t element[];
};
#endif

#define VKF_LARGEST_F16 65504.0
#define VKF_OVERFLOW_F16 65520.0      // the smallest number that rounds past the largest fp16
#define VKF_OVERFLOW_BF16 0x7f7f8000u // bits of the smallest fp32 that rounds past the largest bf16

uint elementBytes(const uint type) {
    return type == VKF_STORED_F32 ? 4 : 2;
}

// Whether four elements can be loaded or stored at once: every row of the head starts at a multiple of their size.
bool isAligned4(const uvec2 head_address, const uint row_stride, const uint type) {
    return ((head_address.x | row_stride) & (elementBytes(type) * 4 - 1)) == 0;
}

vec2 unpackBf16(const uint pair) {
    return uintBitsToFloat(uvec2(pair << 16, pair & 0xffff0000u));
}

// Clamps finite values to the largest fp16, so that they stay finite.
vec2 withinF16(const vec2 x) {
    bvec2 finite = lessThan(abs(x), vec2(uintBitsToFloat(0x7f800000u)));
    return mix(x, clamp(x, vec2(-VKF_LARGEST_F16), vec2(VKF_LARGEST_F16)), finite);
}

// Two fp16, rounded as the device rounds.
uint packF16(const vec2 x) {
#ifdef VKF_STORAGE_16BIT
    return packHalf2x16(withinF16(x));
#else // SwiftShader, which lacks 16-bit storage, packs infinity as a NaN: its fraction is not 0
    bvec2 infinite = equal(abs(x), vec2(uintBitsToFloat(0x7f800000u)));
    uvec2 fraction = mix(uvec2(0), uvec2(0x3ffu, 0x3ff0000u), infinite);
    return packHalf2x16(withinF16(x)) & ~(fraction.x | fraction.y);
#endif
}

// Two bf16, rounded to nearest, ties to even. A value that would round past the largest bf16 loses its lower bits
// instead: a finite value becomes the largest bf16; infinity and NaN stay. A NaN must be quiet, as arithmetic makes it.
// The number of instructions matters: with twice as many, NVIDIA's compiler does not unroll the loop that stores o. Its
// accumulators are then in memory (lab/log-0.4.md, "Log: the portable kernel, fp32").
uint packBf16(const vec2 x) {
    uvec2 bits = floatBitsToUint(x);
    uvec2 rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    bits = mix(bits, rounded, lessThan(abs(x), vec2(uintBitsToFloat(VKF_OVERFLOW_BF16))));
    return bits.x >> 16 | (bits.y & 0xffff0000u);
}

float loadElement(const uvec2 address, const uint type) {
    if (type == VKF_STORED_F32) {
        return uintBitsToFloat(Word(address).value);
    }
#ifdef VKF_STORAGE_16BIT
    uint bits = uint(HalfWord(address).value);
    return type == VKF_STORED_F16 ? unpackHalf2x16(bits).x : uintBitsToFloat(bits << 16);
#else
    return 0.0;
#endif
}

vec4 loadAligned4(const uvec2 address, const uint type) {
    if (type == VKF_STORED_F32) {
        return uintBitsToFloat(Word4(address).value);
    }
    uvec2 pairs = Word2(address).value;
    return type == VKF_STORED_F16 ? vec4(unpackHalf2x16(pairs.x), unpackHalf2x16(pairs.y))
                                  : vec4(unpackBf16(pairs.x), unpackBf16(pairs.y));
}

float loadElementOrZero(const uvec2 row_address, const uint column, const uint dim, const uint type) {
    return column < dim ? loadElement(add64(row_address, uvec2(column * elementBytes(type), 0)), type) : 0.0;
}

// Elements [column, column + 4) of a row of `dim` elements, loaded one by one; 0 past the end of the row.
vec4 loadRow4(const uvec2 row_address, const uint column, const uint dim, const uint type) {
    return vec4(
        loadElementOrZero(row_address, column, dim, type), loadElementOrZero(row_address, column + 1, dim, type),
        loadElementOrZero(row_address, column + 2, dim, type), loadElementOrZero(row_address, column + 3, dim, type));
}

// Four elements as they are stored: four words of fp32, or two words of 16-bit pairs.
uvec4 packWords(const vec4 x, const uint type) {
    if (type == VKF_STORED_F32) {
        return floatBitsToUint(x);
    }
    return type == VKF_STORED_F16 ? uvec4(packF16(x.xy), packF16(x.zw), 0, 0)
                                  : uvec4(packBf16(x.xy), packBf16(x.zw), 0, 0);
}

// Stores element 0, 1, 2 or 3 of packed words (packWords); nothing past the end of the row.
void storeElement(const uvec2 row_address, const uint column, const uint dim, const uint type, const uvec4 words,
                  const uint element) {
    if (column + element >= dim) {
        return;
    }
    uvec2 address = add64(row_address, uvec2((column + element) * elementBytes(type), 0));
    if (type == VKF_STORED_F32) {
        Word(address).value = words[element];
        return;
    }
#ifdef VKF_STORAGE_16BIT
    HalfWord(address).value = uint16_t(words[element / 2] >> (element % 2 * 16));
#endif
}

// Stores elements [column, column + 4) of a row of `dim` elements; nothing past the end of the row.
void storeRow4(const uvec2 row_address, const uint column, const uint dim, const uint type, const bool aligned4,
               const vec4 x) {
    uvec4 words = packWords(x, type);
    if (!aligned4 || column + 4 > dim) {
        storeElement(row_address, column, dim, type, words, 0);
        storeElement(row_address, column, dim, type, words, 1);
        storeElement(row_address, column, dim, type, words, 2);
        storeElement(row_address, column, dim, type, words, 3);
        return;
    }
    uvec2 address = add64(row_address, uvec2(column * elementBytes(type), 0));
    if (type == VKF_STORED_F32) {
        Word4(address).value = words;
    } else {
        Word2(address).value = words.xy;
    }
}

#endif
