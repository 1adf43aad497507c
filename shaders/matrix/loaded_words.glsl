// SPDX-License-Identifier: MIT
//
// Words of eight elements of k and v for a matrix unit, from loads of 16 bytes. A load of a 16-bit type is such a word.
// A load of a block type is a piece of a block, which makes one word or two.
#ifndef VKF_LOADED_WORDS_GLSL
#define VKF_LOADED_WORDS_GLSL

#include "cache/block_halves.glsl"

const uint K_LOADS = VKF_ROW_WORDS(HEAD_DIM, TYPE_K); // in a row
const uint V_LOADS = VKF_ROW_WORDS(VALUE_DIM, TYPE_V);
const uint K_LOAD_WORDS = VKF_WORD_QUADS(TYPE_K) / 2; // words that a load makes
const uint V_LOAD_WORDS = VKF_WORD_QUADS(TYPE_V) / 2;

// One of the words of eight elements that a load makes. placeOfLoad returns the number of that word in its row.
uvec4 wordOfLoad(const uvec4 fetched, const uint word, const uint type) {
    if (VKF_IS_BLOCK_TYPE(type)) {
        return pieceWord(fetched, word, type);
    }
    return fetched;
}

uint placeOfLoad(const uint load, const uint word, const uint type) {
    return VKF_IS_BLOCK_TYPE(type) ? pieceColumn(load, word * 2, type) / 8 : load;
}

#endif
