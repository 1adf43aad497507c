// SPDX-License-Identifier: MIT
//
// The block mask has one bit for each block of BLOCK rows x BLOCK keys; 1 = open. A word has the bits of 32
// neighbouring blocks of keys. Rows of blocks lie one after the other. This file finds the tiles of keys that are empty
// for a tile of rows, and the blocks of a tile that a row sees.
//
// If tiles divide blocks, each tile lies in one block: it is open, or it is empty, and the block mask tests no pair.
// Else, with BLOCKS_CROSS_TILES, a tile with an open block is partial. Blocks are multiples of 16, so no block ends
// inside a matrix.
#ifndef VKF_BLOCK_MASK_GLSL
#define VKF_BLOCK_MASK_GLSL

#include "common/item.glsl"

layout(constant_id = VKF_ID_MASK_BATCH_STRIDE) const uint MASK_BATCH_STRIDE = 0;
layout(constant_id = VKF_ID_MASK_HEAD_STRIDE) const uint MASK_HEAD_STRIDE = 0;

const uint BLOCK = HAS_BLOCK_MASK ? MASK_BLOCK : 1; // never a divisor of 0
const bool BLOCKS_CROSS_TILES = MASK_BLOCK % TILE_ROWS + MASK_BLOCK % TILE_KEYS != 0;

uvec2 mask_head;        // address of the head's mask
uint mask_first;        // first row of blocks that the tile of rows touches
uint mask_last;         // last row of blocks that the tile of rows touches
uint mask_end;          // keys of the sequence
uint cached_block_word; // number of the word that openWord read last
uint cached_block_bits; // bits of that word

uint maskWord(const uint block_row, const uint word) {
    uint row_words = ((params.keys + BLOCK - 1) / BLOCK + 31) / 32;
    uvec2 row = add64(mask_head, multiply64(block_row, row_words * 4));
    return Word(add64(row, uvec2(word * 4, 0))).value;
}

void beginBlocks(const Item item) {
    if (!HAS_BLOCK_MASK) {
        return;
    }
    uvec2 sequence = multiply64(item.batch, MASK_BATCH_STRIDE);
    uvec2 words = add64(sequence, multiply64(item.head, MASK_HEAD_STRIDE));
    mask_head = add64(VKF_TABLE_ADDRESS(block_mask), SHIFT64(words, 2));
    mask_first = item.row_begin / BLOCK;
    mask_last = (min(item.row_begin + TILE_ROWS, params.query_rows) - 1) / BLOCK;
    mask_end = item.keys;
    cached_block_word = 0xffffffffu;
}

// Bits of the blocks of keys 32 word to 32 word + 31 that some row of the tile sees. The function keeps the last word,
// because neighbouring tiles mostly need the same word.
uint openWord(const uint word) {
    if (word != cached_block_word) {
        cached_block_word = word;
        cached_block_bits = 0;
        for (uint block_row = mask_first; block_row <= mask_last; block_row++) {
            cached_block_bits |= maskWord(block_row, word);
        }
    }
    return cached_block_bits;
}

// The first non-empty tile of keys in [tile, end); `end` if there is none. All invocations of the workgroup get the
// same result.
uint openTile(const uint tile, const uint end) {
    uint key_end = min(end * TILE_KEYS, mask_end);
    for (uint block = tile * TILE_KEYS / BLOCK; block * BLOCK < key_end; block = (block | 31u) + 1) {
        uint bits = openWord(block / 32) & (0xffffffffu << (block % 32));
        if (bits != 0) {
            uint open = (block & ~31u) + uint(findLSB(bits));
            return min(max(tile, open * BLOCK / TILE_KEYS), end);
        }
    }
    return end;
}

// Bit i says whether the row sees block i, counted from the block of key_begin. The bits cover the keys of a tile. Bits
// of blocks that do not exist have no meaning.
uint openBlocks(const uint row, const uint key_begin) {
    uint block_row = min(row, params.query_rows - 1) / BLOCK;
    uint block = key_begin / BLOCK;
    uint last_word = (params.keys - 1) / BLOCK / 32;
    uint bits = maskWord(block_row, min(block / 32, last_word)) >> (block % 32);
    if (block % 32 != 0 && block / 32 < last_word) {
        bits |= maskWord(block_row, block / 32 + 1) << (32 - block % 32);
    }
    return bits;
}

// Whether the block of a key is open. `bits` is openBlocks(row, key_begin), and `key` is at least key_begin.
bool isOpen(const uint bits, const uint key_begin, const uint key) {
    return ((bits >> (key / BLOCK - key_begin / BLOCK)) & 1u) != 0;
}

#endif
