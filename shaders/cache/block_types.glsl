// SPDX-License-Identifier: MIT
//
// Rows of block types (shared/attention_params.h) and their elements as fp32, bit for bit those of the definition: a
// product of scale and code is exact in fp32, and a minimum is added with one rounding.
//
// A kernel loads a piece of a block at a time: VKF_PIECE_BYTES of codes with what belongs to them, in four words. Two
// words are codes, one is scale and minimum, one is fifth bits, a nibble for each four elements. A piece of q8_0 has 8
// consecutive elements. A piece of another type has 8 elements of the first half of the block and the 8 elements 16
// farther, whose codes share their bytes.
//
// Needs: common/address64.glsl, common/element.glsl; VKF_CACHES or VKF_DEALT_BLOCKS where the kernel has block types.
// Provides: loadPiece, gatherPiece, pieceQuad, pieceColumn, loadBlockQuad, loadElements4, codeBytes, dequantize,
// RowWords, VKF_CODE_OFFSET.
#ifndef VKF_BLOCK_TYPES_GLSL
#define VKF_BLOCK_TYPES_GLSL

#if defined(VKF_CACHES) || defined(VKF_DEALT_BLOCKS)
#define VKF_PIECE_BYTES 8

// Where a piece's block and its codes begin, in bytes from its row, and how much larger codeBytes are than codes.
// Macros, because chains of calls must be short (docs/tuning.md, "Chains of calls").
#define VKF_PIECES_OF_BLOCK(type) ((type) == VKF_STORED_Q8_0 ? 4 : 2)
#define VKF_BLOCK_OFFSET(piece, type) ((piece) / VKF_PIECES_OF_BLOCK(type) * VKF_BLOCK_BYTES(type))
#define VKF_CODES_OFFSET(piece, type)                                                                            \
    (VKF_BLOCK_OFFSET(piece, type) + VKF_BLOCK_CODES_AT(type) + (piece) % VKF_PIECES_OF_BLOCK(type) * VKF_PIECE_BYTES)
#define VKF_CODE_OFFSET(type)                                                                                    \
    ((type) == VKF_STORED_Q8_0          ? 128.0                                                                  \
     : VKF_BLOCK_HAS_MINIMUM(type)      ? 0.0                                                                    \
     : VKF_BLOCK_HAS_FIFTH_BITS(type)   ? 16.0                                                                   \
                                        : 8.0)

// Fifth bits of a piece, out of those of its block.
uint fifthBitsOf(const uint piece, const uint of_block) {
    uint shift = piece % 2 * 8;
    return (of_block >> shift & 0xffu) | (of_block >> (16 + shift) & 0xffu) << 8;
}

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer RowWords {
    uint word[];
};

// A piece of a row that is whole words of four bytes, and starts on one. Blocks may start in the middle of a word:
// then what is needed is put together of neighbours, none of which lies outside of the row.
uvec4 loadPiece(const uvec2 row_address, const uint piece, const uint type) {
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

// Four bytes of a row that may start anywhere.
uint loadHalves(const uvec2 row_address, const uint offset) {
    HalfRow row = HalfRow(row_address);
    return uint(row.element[offset / 2]) | uint(row.element[offset / 2 + 1]) << 16;
}

uint loadScale(const uvec2 row_address, const uint block, const uint type) {
    HalfRow row = HalfRow(row_address);
    uint minimum = VKF_BLOCK_HAS_MINIMUM(type) ? uint(row.element[block / 2 + 1]) << 16 : 0u;
    return uint(row.element[block / 2]) | minimum;
}
#endif

// A piece of any row.
uvec4 gatherPiece(const uvec2 row_address, const uint piece, const uint type) {
#ifdef VKF_STORAGE_16BIT
    uint codes = VKF_CODES_OFFSET(piece, type);
    uint header = VKF_BLOCK_OFFSET(piece, type);
    uint fifth = VKF_BLOCK_HAS_FIFTH_BITS(type) ? loadHalves(row_address, header + VKF_BLOCK_FIFTH_BITS_AT(type)) : 0;
    return uvec4(loadHalves(row_address, codes), loadHalves(row_address, codes + 4),
                 loadScale(row_address, header, type), fifthBitsOf(piece, fifth));
#else
    return uvec4(0);
#endif
}

// Four codes of a word as bytes, VKF_CODE_OFFSET too large: those of q8_0 without their sign; else the low halves of
// the word's bytes, each with a bit of `fifth` above it.
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

// Four elements from their codeBytes. A byte in the low bits of 2^23 is a float, exactly, which a conversion takes
// longer to make.
vec4 dequantize(const uint packed, const uint scale_minimum, const uint type) {
    uvec4 bytes = uvec4(packed, packed >> 8, packed >> 16, packed >> 24) & 0xffu;
    vec2 scale = unpackHalf2x16(scale_minimum);
    vec4 x = (uintBitsToFloat(bytes | 0x4b000000u) - (8388608.0 + VKF_CODE_OFFSET(type))) * scale.x;
    return VKF_BLOCK_HAS_MINIMUM(type) ? x + scale.y : x;
}

// Four elements of a piece: of q8_0 two such quads, else two of the first half of the block, two of the second.
vec4 pieceQuad(const uvec4 piece, const uint quad, const uint type) {
    uint codes = quad % 2 == 0 ? piece.x : piece.y;
    return dequantize(codeBytes(quad < 2 ? codes : codes >> 4, piece.w >> 4 * quad, type), piece.z, type);
}

// Column of the first element of a quad.
uint pieceColumn(const uint piece, const uint quad, const uint type) {
    if (type == VKF_STORED_Q8_0) {
        return piece * 8 + quad * 4;
    }
    return piece / 2 * VKF_BLOCK_ELEMENTS + quad / 2 * 16 + piece % 2 * 8 + quad % 2 * 4;
}

// Elements [4 quad, 4 quad + 4) of any row.
vec4 loadBlockQuad(const uvec2 row_address, const uint quad, const uint type) {
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

// Kernels without block types: the names only.
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

// Four elements of any row of any type, zeros past its end.
vec4 loadElements4(const uvec2 row_address, const uint column, const uint dim, const uint type) {
    if (VKF_IS_BLOCK_TYPE(type)) {
        return column < dim ? loadBlockQuad(row_address, column / 4, type) : vec4(0.0);
    }
    return loadRow4(row_address, column, dim, type);
}

#endif
