// SPDX-License-Identifier: MIT
//
// Loads words of 16 bytes of a row of k or v straight from device memory into registers, and converts their elements to
// fp32. A word of a block type is a piece of a block.
#ifndef VKF_ROW_LOADS_GLSL
#define VKF_ROW_LOADS_GLSL

#include "cache/block_types.glsl"

#include "common/row_words.glsl"

// A word, loaded element by element; zeros past the end of the row.
uvec4 gatheredWord(const uvec2 row_address, const uint word, const uint dim, const uint type) {
    uvec4 bits = uvec4(0);
#ifndef VKF_READS_LANE_CHUNKS
    if (VKF_IS_BLOCK_TYPE(type)) {
        return word < VKF_ROW_WORDS(dim, type) ? gatherPiece(row_address, word, type) : bits;
    }
#endif
    KEEP_LOOP for (uint i = 0; i < 4; i++) {
        if (type == VKF_STORED_F32) {
            bits[i] = floatBitsToUint(loadElementOrZero(row_address, word * 4 + i, dim, type));
        } else {
            uint column = word * 8 + i * 2;
            bits[i] = halfAt(row_address, column, dim) | halfAt(row_address, column + 1, dim) << 16;
        }
    }
    return bits;
}

uvec4 existingWord(const uvec2 row_address, const uint word, const uint type) {
#ifndef VKF_READS_LANE_CHUNKS
    if (VKF_IS_BLOCK_TYPE(type)) {
        return loadPiece(row_address, word, type);
    }
#endif
    return Words(row_address).word[word];
}

// Word number `word` of a row of `dim` elements; zeros past the end of the row. It is one of `lanes` neighbouring words
// that are loaded together.
uvec4 rowWord(const uvec2 row_address, const uint word, const uint dim, const uint type, const uint lanes) {
    if (!WHOLE_WORDS) {
        return gatheredWord(row_address, word, dim, type);
    }
    uint words = VKF_ROW_WORDS(dim, type);
    if (words % lanes == 0) {
        return existingWord(row_address, word, type);
    }
    // A word that exists is always loaded, so that loads need no branches and are in flight together.
    uvec4 loaded = existingWord(row_address, min(word, words - 1), type);
    return word < words ? loaded : uvec4(0);
}

// Four elements of a word, as fp32. In a word of zeros all elements are 0.
vec4 wordQuad(const uvec4 word, const uint quad, const uint type) {
    if (VKF_IS_BLOCK_TYPE(type)) {
        return pieceQuad(word, quad, type);
    }
    if (type == VKF_STORED_F32) {
        return uintBitsToFloat(word);
    }
    uvec2 pairs = quad == 0 ? word.xy : word.zw;
    return type == VKF_STORED_F16 ? vec4(unpackHalf2x16(pairs.x), unpackHalf2x16(pairs.y))
                                  : vec4(unpackBf16(pairs.x), unpackBf16(pairs.y));
}

// The column of a row where a quad of a word begins.
uint quadColumn(const uint word, const uint quad, const uint type) {
    return VKF_IS_BLOCK_TYPE(type) ? pieceColumn(word, quad, type) : (word * VKF_WORD_QUADS(type) + quad) * 4;
}

#endif
