// SPDX-License-Identifier: MIT
//
// Reads rows of block types (shared/stored_types.h) as fp32. The elements have exactly the bits of the definition:
// scale times code is exact in fp32, and adding a minimum rounds once. In iq4_nl the number of a code takes the place
// of the code (cache/block_types.glsl).
//
// A kernel loads one piece of a block at a time: VKF_PIECE_BYTES bytes of codes, and the numbers that they need. A
// piece has four words:
//     0, 1   codes
//     2      scale, and minimum in the upper half
//     3      fifth bits, a nibble for each four elements
//
// A piece of q8_0 has 8 consecutive elements. A piece of another type has 8 elements of the first half of the block,
// and the 8 elements that come 16 elements later. The codes of the two share their bytes.
//
// A piece of an fp8 type is a block: four words of codes, 16 consecutive elements.
//
// Kernels with block types define VKF_CACHES or VKF_READS_LANE_CHUNKS.
#ifndef VKF_BLOCK_TYPES_GLSL
#define VKF_BLOCK_TYPES_GLSL

// From codes of iq4_nl to their numbers, VKF_IQ4_NL_NUMBERS, without a table in memory. A polynomial of degree 4 passes
// each number at a distance below 0.434. So the number is the whole number nearest to the polynomial. Arithmetic for
// two or four codes at a time takes fewer instructions than choosing among words of a table.
//
// Codes count from VKF_MIDDLE_CODE, so that factors and partial sums are small. These are macros because chains of
// calls must be short (docs/kernel_rules.md, "Chains of calls").

#define VKF_MIDDLE_CODE 7.0

// A sum of factors times powers of the code, by Horner's rule.
#define VKF_CODE_POLYNOMIAL(code, vector, f0, f1, f2, f3, f4)                                                          \
    fma(fma(fma(fma(code, vector(f4), vector(f3)), code, vector(f2)), code, vector(f1)), code, vector(f0))

// Numbers of a vec4 of codes. The sum begins at 2^15 + 128.5, so its last bit is 2^-8. Without its last eight bits it
// is a whole number. Every rounding that Vulkan allows gives the same number.
#define VKF_NUMBERS_OF(code)                                                                                           \
    (uintBitsToFloat(floatBitsToUint(VKF_CODE_POLYNOMIAL(code, vec4, 32896.5 - 10.1038858, 11.71261, -0.252815,        \
                                                         0.0754956, 0.00158604)) &                                     \
                     0xffffff00u) -                                                                                    \
     32896.0)

// Numbers of an f16vec2 of codes. The sum begins at 1152, so its last bit is 1, and the last addition rounds to the
// number. The factors are 1142, 93.0625 / 8, -15.796875 / 64, 39.6875 / 512 and 5.64453125 / 4096. They give each
// number whether multiply-add rounds once or twice, if it rounds to nearest. The result must be `precise`, which keeps
// the two last additions apart.
//
// The factors are written as bits of pairs, because shaders that are made bf16 have no fp16 constants.
#define VKF_HALF_NUMBERS_OF(code)                                                                                      \
    (VKF_CODE_POLYNOMIAL(code, unpackFloat2x16, 0x64766476u, 0x49d149d1u, 0xb3e6b3e6u, 0x2cf62cf6u, 0x15a515a5u) -     \
     unpackFloat2x16(0x64806480u))

#if defined(VKF_CACHES) || defined(VKF_READS_LANE_CHUNKS)
#define VKF_PIECE_BYTES 8

// Where the block and the codes of a piece begin, in bytes from the row. VKF_CODE_OFFSET: what codeBytes adds to a
// code. These are macros because chains of calls must be short (docs/kernel_rules.md, "Chains of calls").
#define VKF_PIECES_OF_BLOCK(type) ((type) == VKF_STORED_Q8_0 ? 4 : VKF_IS_FP8(type) ? 1 : 2)
#define VKF_BLOCK_OFFSET(piece, type) ((piece) / VKF_PIECES_OF_BLOCK(type) * VKF_BLOCK_BYTES(type))
#define VKF_CODES_OFFSET(piece, type)                                                                                  \
    (VKF_BLOCK_OFFSET(piece, type) + VKF_BLOCK_CODES_AT(type) + (piece) % VKF_PIECES_OF_BLOCK(type) * VKF_PIECE_BYTES)
#define VKF_CODE_OFFSET(type)                                                                                          \
    ((type) == VKF_STORED_Q8_0        ? 128.0                                                                          \
     : (type) == VKF_STORED_IQ4_NL    ? VKF_MIDDLE_CODE                                                                \
     : VKF_BLOCK_HAS_MINIMUM(type)    ? 0.0                                                                            \
     : VKF_BLOCK_HAS_FIFTH_BITS(type) ? 16.0                                                                           \
                                      : 8.0)

// The fifth bits of a piece, taken out of the fifth bits of its block.
uint fifthBitsOf(const uint piece, const uint of_block) {
    uint shift = piece % 2 * 8;
    return (of_block >> shift & 0xffu) | (of_block >> (16 + shift) & 0xffu) << 8;
}

#define VKF_FP8_PIECE(row_address, piece) Word4(add64(row_address, uvec2((piece)*16, 0))).value

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer RowWords {
    uint word[];
};

// A piece of a row. The row consists of words of four bytes, and its address is a multiple of 4. A block may start in
// the middle of a word: the function then combines neighbouring words. It reads no word outside the row.
uvec4 loadPiece(const uvec2 row_address, const uint piece, const uint type) {
    if (VKF_IS_FP8(type)) {
        return VKF_FP8_PIECE(row_address, piece);
    }
    RowWords row = RowWords(row_address);
    uint codes = VKF_CODES_OFFSET(piece, type);
    uint header = VKF_BLOCK_OFFSET(piece, type);
    uvec2 low = uvec2(row.word[codes / 4], row.word[codes / 4 + 1]);
    if (VKF_BLOCK_BYTES(type) % 4 == 0) {
        uint fifth = VKF_BLOCK_HAS_FIFTH_BITS(type) ? row.word[header / 4 + 1] : 0;
        return uvec4(low, row.word[header / 4], fifthBitsOf(piece, fifth));
    }
    uint last = row.word[(codes + VKF_PIECE_BYTES - 1) / 4];
    bool split = codes % 4 != 0;
    uvec2 joined = uvec2(low.x >> 16 | low.y << 16, low.y >> 16 | last << 16);
    uint first = row.word[header / 4];
    uint fifth = 0;
    if (VKF_BLOCK_HAS_FIFTH_BITS(type)) {
        uint next = row.word[header / 4 + 1];
        fifth = header % 4 == 0 ? first >> 16 | next << 16 : next;
    }
    return uvec4(split ? joined : low, header % 4 == 0 ? first & 0xffffu : first >> 16, fifthBitsOf(piece, fifth));
}

#ifdef VKF_STORAGE_16BIT
uint loadHalf(const uvec2 row_address, const uint offset) {
    return uint(HalfRow(row_address).element[offset / 2]);
}

// Four bytes of a row, from a multiple of 2 on.
uint loadHalves(const uvec2 row_address, const uint offset) {
    HalfRow row = HalfRow(row_address);
    return uint(row.element[offset / 2]) | uint(row.element[offset / 2 + 1]) << 16;
}

uint loadScale(const uvec2 row_address, const uint block, const uint type) {
    HalfRow row = HalfRow(row_address);
    uint minimum = VKF_BLOCK_HAS_MINIMUM(type) ? uint(row.element[block / 2 + 1]) << 16 : 0u;
    return uint(row.element[block / 2]) | minimum;
}

// A piece of any row, loaded as 16-bit elements.
uvec4 gatherPiece(const uvec2 row_address, const uint piece, const uint type) {
    if (VKF_IS_FP8(type)) {
        return VKF_FP8_PIECE(row_address, piece);
    }
    uint codes = VKF_CODES_OFFSET(piece, type);
    uint header = VKF_BLOCK_OFFSET(piece, type);
    uint fifth = VKF_BLOCK_HAS_FIFTH_BITS(type) ? loadHalves(row_address, header + VKF_BLOCK_FIFTH_BITS_AT(type)) : 0;
    return uvec4(loadHalves(row_address, codes), loadHalves(row_address, codes + 4),
                 loadScale(row_address, header, type), fifthBitsOf(piece, fifth));
}
#else
uvec4 gatherPiece(const uvec2 row_address, const uint piece, const uint type) {
    return uvec4(0);
}
#endif

// Four codes of a word as bytes without sign. Each byte is VKF_CODE_OFFSET larger than its code. q8_0: the bytes of the
// word. Other types: the low half of each byte, with a bit of `fifth` above it.
uint codeBytes(const uint codes, const uint fifth, const uint type) {
    if (type == VKF_STORED_Q8_0) {
        return codes ^ 0x80808080u;
    }
    uint nibbles = codes & 0x0f0f0f0fu;
    if (!VKF_BLOCK_HAS_FIFTH_BITS(type)) {
        return nibbles;
    }
    return nibbles | (fifth & 1u) << 4 | (fifth & 2u) << 11 | (fifth & 4u) << 18 | (fifth & 8u) << 25;
}

// Four elements from their codeBytes. A byte becomes a float exactly as the low bits of the float 2^23. A conversion
// takes longer.
vec4 dequantize(const uint packed, const uint scale_minimum, const uint type) {
    uvec4 bytes = uvec4(packed, packed >> 8, packed >> 16, packed >> 24) & 0xffu;
    vec2 scale = unpackHalf2x16(scale_minimum);
    vec4 codes = uintBitsToFloat(bytes | 0x4b000000u) - (8388608.0 + VKF_CODE_OFFSET(type));
    vec4 x = (type == VKF_STORED_IQ4_NL ? VKF_NUMBERS_OF(codes) : codes) * scale.x;
    return VKF_BLOCK_HAS_MINIMUM(type) ? x + scale.y : x;
}

// Two fp16 of every other one of four fp8 codes: codes 1 and 3 if `high`, else 0 and 2. e4m3 numbers are 2^-8 times
// their value, because fp16 has one more bit of exponent, and its bias is larger by 8. A NaN of e4m3 is 1.875.
#define VKF_FP8_UPPER_BYTES(codes, high) ((high) ? (codes) : (codes) << 8)
#define VKF_FP8_HALVES(codes, high, type)                                                                              \
    ((type) == VKF_STORED_F8_E5M2                                                                                      \
         ? VKF_FP8_UPPER_BYTES(codes, high) & 0xff00ff00u                                                              \
         : (VKF_FP8_UPPER_BYTES(codes, high) & 0x80008000u) | (VKF_FP8_UPPER_BYTES(codes, high) >> 1 & 0x3f803f80u))

#define VKF_E4M3_NAN 480.0 // what the code of a NaN would stand for

// Four elements from their fp8 codes.
vec4 fp8Quad(const uint codes, const uint type) {
    vec2 even = unpackHalf2x16(VKF_FP8_HALVES(codes, false, type));
    vec2 odd = unpackHalf2x16(VKF_FP8_HALVES(codes, true, type));
    vec4 x = vec4(even.x, odd.x, even.y, odd.y);
    if (type == VKF_STORED_F8_E5M2) {
        return x;
    }
    x *= 256.0;
    return mix(x, vec4(uintBitsToFloat(0x7fc00000u)), equal(abs(x), vec4(VKF_E4M3_NAN)));
}

// Four elements of a piece. A piece of q8_0 has two such quads. A piece of another type has two quads of the first half
// of the block, then two of the second half.
vec4 pieceQuad(const uvec4 piece, const uint quad, const uint type) {
    if (VKF_IS_FP8(type)) {
        return fp8Quad(quad < 2 ? (quad == 0 ? piece.x : piece.y) : (quad == 2 ? piece.z : piece.w), type);
    }
    uint codes = quad % 2 == 0 ? piece.x : piece.y;
    return dequantize(codeBytes(quad < 2 ? codes : codes >> 4, piece.w >> (4 * quad), type), piece.z, type);
}

// The column of the first element of a quad of a piece.
uint pieceColumn(const uint piece, const uint quad, const uint type) {
    if (type == VKF_STORED_Q8_0) {
        return piece * 8 + quad * 4;
    }
    if (VKF_IS_FP8(type)) {
        return (piece * 4 + quad) * 4;
    }
    return piece / 2 * VKF_BLOCK_ELEMENTS + quad / 2 * 16 + piece % 2 * 8 + quad % 2 * 4;
}

// Elements [4 quad, 4 quad + 4) of any row.
vec4 loadBlockQuad(const uvec2 row_address, const uint quad, const uint type) {
    if (VKF_IS_FP8(type)) {
        return fp8Quad(Word(add64(row_address, uvec2(quad * 4, 0))).value, type);
    }
#ifdef VKF_STORAGE_16BIT
    uint block = quad / 8 * VKF_BLOCK_BYTES(type);
    uint element = quad % 8 * 4;
    bool nibbles = type != VKF_STORED_Q8_0;
    uint byte = nibbles ? element % 16 : element;
    uint codes = loadHalves(row_address, block + VKF_BLOCK_CODES_AT(type) + byte);
    uint fifth = 0;
    if (VKF_BLOCK_HAS_FIFTH_BITS(type)) {
        fifth = loadHalf(row_address, block + VKF_BLOCK_FIFTH_BITS_AT(type) + element / 16 * 2) >> element % 16;
    }
    uint bytes = codeBytes(nibbles && element >= 16 ? codes >> 4 : codes, fifth, type);
    return dequantize(bytes, loadScale(row_address, block, type), type);
#else
    return vec4(0.0);
#endif
}

#else

// Kernels without block types need only the names.
uvec4 loadPiece(const uvec2 row_address, const uint piece, const uint type) {
    return uvec4(0);
}

uvec4 gatherPiece(const uvec2 row_address, const uint piece, const uint type) {
    return uvec4(0);
}

vec4 pieceQuad(const uvec4 piece, const uint quad, const uint type) {
    return vec4(0.0);
}

uint pieceColumn(const uint piece, const uint quad, const uint type) {
    return 0;
}

vec4 loadBlockQuad(const uvec2 row_address, const uint quad, const uint type) {
    return vec4(0.0);
}

#endif

// Four elements of any row of any type; zeros past the end of the row.
vec4 loadElements4(const uvec2 row_address, const uint column, const uint dim, const uint type) {
    if (VKF_IS_BLOCK_TYPE(type)) {
        return column < dim ? loadBlockQuad(row_address, column / 4, type) : vec4(0.0);
    }
    return loadRow4(row_address, column, dim, type);
}

#endif
