// SPDX-License-Identifier: MIT
//
// Words of eight elements of k and v for a matrix unit, from loads of 16 bytes. A load of a 16-bit type is such a word.
// A load of a block type (cache/block_types.glsl) is a piece of a block, which makes one word or two. fp16 matrices use
// fp16 arithmetic: a code minus its offset is exact, and only the element is rounded. An element past the largest fp16
// becomes infinite.
#ifndef VKF_LOADED_WORDS_GLSL
#define VKF_LOADED_WORDS_GLSL

#include "cache/block_types.glsl"

#ifdef VKF_CACHES

uint scaledHalves(const uint bytes, const f16vec2 scale, const uint type) {
    if (type == VKF_STORED_IQ4_NL) {
        const f16vec2 code = unpackFloat2x16(bytes | 0x64006400u) - unpackFloat2x16(0x64076407u); // the middle, 7
        precise f16vec2 number = VKF_HALF_NUMBERS_OF(code);
        return packFloat2x16(number * scale.x);
    }
    f16vec2 x = unpackFloat2x16(bytes | 0x64006400u) - f16vec2(1024.0 + VKF_CODE_OFFSET(type)); // 2^10 + code
    return packFloat2x16(VKF_BLOCK_HAS_MINIMUM(type) ? fma(x, scale.xx, scale.yy) : x * scale.x);
}

uvec2 dequantizeHalves(const uint codes, const uint fifth, const uint scale_minimum, const uint type) {
    uint bytes = codeBytes(codes, fifth, type);
    if (MATRICES_ARE_BF16) {
        vec4 x = dequantize(bytes, scale_minimum, type);
        return uvec2(packBf16(x.xy), packBf16(x.zw));
    }
    f16vec2 scale = unpackFloat2x16(scale_minimum);
    return uvec2(scaledHalves((bytes & 0xffu) | (bytes & 0xff00u) << 8, scale, type),
                 scaledHalves((bytes >> 16 & 0xffu) | (bytes & 0xff000000u) >> 8, scale, type));
}

// Four elements from their fp8 codes. An element of fp16 is exact. A NaN of e4m3 carries into the exponent.
uvec2 fp8Words(const uint codes, const uint type) {
    if (MATRICES_ARE_BF16) {
        vec4 x = fp8Quad(codes, type);
        return uvec2(packBf16(x.xy), packBf16(x.zw));
    }
    uint even = VKF_FP8_HALVES(codes, false, type);
    uint odd = VKF_FP8_HALVES(codes, true, type);
    if (type == VKF_STORED_F8_E4M3) {
        uvec2 carried = ((uvec2(even, odd) & 0x3f803f80u) + 0x00800080u) & 0x40004000u;
        uvec2 nan = carried | (carried - (carried >> 4));
        even = packFloat2x16(unpackFloat2x16(even) * unpackFloat2x16(0x5c005c00u)) | nan.x; // times 2^8
        odd = packFloat2x16(unpackFloat2x16(odd) * unpackFloat2x16(0x5c005c00u)) | nan.y;
    }
    return uvec2((even & 0xffffu) | odd << 16, even >> 16 | (odd & 0xffff0000u));
}

// One word of eight elements of a piece. A piece of q8_0 has one word, a piece of another type has two.
uvec4 pieceWord(const uvec4 piece, const uint word, const uint type) {
    if (VKF_IS_FP8(type)) {
        uvec2 of_fp8 = word == 0 ? piece.xy : piece.zw;
        return uvec4(fp8Words(of_fp8.x, type), fp8Words(of_fp8.y, type));
    }
    uvec2 codes = word == 0 ? piece.xy : piece.xy >> 4;
    uint fifth = piece.w >> (8 * word);
    return uvec4(dequantizeHalves(codes.x, fifth, piece.z, type), dequantizeHalves(codes.y, fifth >> 4, piece.z, type));
}

// Eight elements of any row. `column` is a multiple of eight.
uvec4 loadBlockWord(const uvec2 row_address, const uint column, const uint type) {
    uint in_block = column % VKF_BLOCK_ELEMENTS;
    if (type == VKF_STORED_Q8_0) {
        return pieceWord(gatherPiece(row_address, column / 8, type), 0, type);
    }
    if (VKF_IS_FP8(type)) {
        return pieceWord(gatherPiece(row_address, column / 16, type), column / 8 % 2, type);
    }
    uint piece = column / VKF_BLOCK_ELEMENTS * 2 + in_block % 16 / 8;
    return pieceWord(gatherPiece(row_address, piece, type), in_block / 16, type);
}

#else

uvec4 pieceWord(const uvec4 piece, const uint word, const uint type) {
    return uvec4(0);
}

uvec4 loadBlockWord(const uvec2 row_address, const uint column, const uint type) {
    return uvec4(0);
}

#endif

const uint K_LOADS = VKF_ROW_WORDS(HEAD_DIM, TYPE_K); // in a row
const uint V_LOADS = VKF_ROW_WORDS(VALUE_DIM, TYPE_V);
const uint K_LOAD_WORDS = VKF_WORD_QUADS(TYPE_K) / 2; // words that a load makes
const uint V_LOAD_WORDS = VKF_WORD_QUADS(TYPE_V) / 2;

// One of the words of eight elements that a load makes. wordOfLoad returns the number of that word in its row.
uvec4 wordOfLoad(const uvec4 fetched, const uint word, const uint type) {
    if (VKF_IS_BLOCK_TYPE(type)) {
        return pieceWord(fetched, word, type);
    }
    return fetched;
}

uint wordOfLoad(const uint load, const uint word, const uint type) {
    return VKF_IS_BLOCK_TYPE(type) ? pieceColumn(load, word * 2, type) / 8 : load;
}

#endif
