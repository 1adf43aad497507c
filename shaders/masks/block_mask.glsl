// SPDX-License-Identifier: MIT
//
// The block mask: a bit for each BLOCK rows x BLOCK keys, 1 = open, blocks of keys side by side in words of 32, rows of
// blocks one after the other. Which tiles of keys are empty for a tile of rows, and which blocks of a tile a row sees.
//
// Where tiles divide blocks, a tile is open or closed as a whole, and no score is looked at for the block mask.
// Elsewhere BLOCKS_CROSS_TILES: a tile is partial if any of its blocks is open. Blocks are multiples of 16, so no block
// ends inside a matrix.
//
// Needs: common/params.glsl, common/item.glsl, TILE_ROWS, TILE_KEYS.
// Provides: BLOCK, BLOCKS_CROSS_TILES, beginBlocks, openTile, openBlocks, isOpen.
#ifndef VKF_BLOCK_MASK_GLSL
#define VKF_BLOCK_MASK_GLSL

#include "common/call_table.glsl"

layout(constant_id = VKF_ID_MASK_BATCH_STRIDE) const uint MASK_BATCH_STRIDE = 0;
layout(constant_id = VKF_ID_MASK_HEAD_STRIDE) const uint MASK_HEAD_STRIDE = 0;

const uint BLOCK = HAS_BLOCK_MASK ? MASK_BLOCK : 1; // never a divisor of 0
const bool BLOCKS_CROSS_TILES = MASK_BLOCK % TILE_ROWS + MASK_BLOCK % TILE_KEYS != 0;

uvec2 mask_head; // address of the head's mask
uint mask_first; // rows of blocks that the tile of rows touches
uint mask_last;
uint mask_end;   // keys of the sequence
uint held_word;  // the word that openWord read last
uint held_bits;  // and its bits

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
    held_word = 0xffffffffu;
}

// Bits of blocks of keys 32 word to 32 word + 31 that some row of the tile sees. The last word is kept, because
// neighbouring tiles mostly ask for the same one.
uint openWord(const uint word) {
    if (word != held_word) {
        held_word = word;
        held_bits = 0;
        for (uint block_row = mask_first; block_row <= mask_last; block_row++) {
            held_bits |= maskWord(block_row, word);
        }
    }
    return held_bits;
}

// The first non-empty tile of keys in [tile, end); `end` if there is none. The same in every invocation of the
// workgroup.
uint openTile(const uint tile, const uint end) {
    uint key_end = min(end * TILE_KEYS, mask_end);
    for (uint block = tile * TILE_KEYS / BLOCK; block * BLOCK < key_end; block = (block | 31u) + 1) {
        uint bits = openWord(block / 32) & 0xffffffffu << block % 32;
        if (bits != 0) {
            uint open = (block & ~31u) + uint(findLSB(bits));
            return min(max(tile, open * BLOCK / TILE_KEYS), end);
        }
    }
    return end;
}

// Bit i: whether the row sees block i, counted from the block of key_begin, for as many keys as a tile has. Bits of
// blocks that do not exist mean nothing.
uint openBlocks(const uint row, const uint key_begin) {
    uint block_row = min(row, params.query_rows - 1) / BLOCK;
    uint block = key_begin / BLOCK;
    uint last_word = (params.keys - 1) / BLOCK / 32;
    uint bits = maskWord(block_row, min(block / 32, last_word)) >> block % 32;
    if (block % 32 != 0 && block / 32 < last_word) {
        bits |= maskWord(block_row, block / 32 + 1) << 32 - block % 32;
    }
    return bits;
}

// Whether `bits`, which is openBlocks(row, key_begin), has the block of a key from key_begin on.
bool isOpen(const uint bits, const uint key_begin, const uint key) {
    return (bits >> key / BLOCK - key_begin / BLOCK & 1u) != 0;
}

#endif
