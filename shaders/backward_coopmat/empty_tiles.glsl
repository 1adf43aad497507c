// SPDX-License-Identifier: MIT
//
// Zeros in a band (backward/bands.glsl) for empty tiles of the map that backward_sums.comp may read
// (backward/mapped_tiles.glsl). They have a loop of their own: a branch in the loops over seen tiles takes registers
// there.
//
// The include guard keeps this file out of kernels without functions (functions/hooks.glsl).
#ifndef VKF_EMPTY_TILES_GLSL
#define VKF_EMPTY_TILES_GLSL

// Moves the walk of an owner of keys to its next empty tile that another kernel may read.
bool nextEmptyTile() {
    KEEP_LOOP while (item.head < end_head) {
        if (next_begin < seeing_rows.y) {
            item.row_begin = next_begin;
            next_begin += TILE_ROWS;
            uint tile = item.row_begin / TILE_ROWS;
            if (isReadTile(item.head, key_begin, tile) && !isSeenTile(item.head, key_begin, tile)) {
                return true;
            }
        } else {
            item.head++;
            next_begin = seeing_rows.x / TILE_ROWS * TILE_ROWS;
        }
    }
    return false;
}

// Stores zeros for the subgroup's matrices of the walk's tile.
void storeZeros(const uvec2 pairs) {
    KEEP_LOOP for (uint r = 0; r < OWNED_MATRICES; r++) {
        KEEP_LOOP for (uint i = lane; i < TILE_ROWS / MATRIX_DEPTH * STORED_WORDS; i += LANES) {
            StoredPairs(pairs).word[stored_word + r * STORED_KEY_STRIDE + i] = uvec4(0);
        }
    }
}

// If two subgroups have the same keys, the first one stores.
void storeEmptyTiles() {
    if (!STORES_DS || !HAS_TILE_MAP || columnShare() != 0) {
        return;
    }
    rewindWalk();
    KEEP_LOOP while (UNIFORM_BY_VOTE(nextEmptyTile())) {
        beginPairs();
        if (STORES_P) {
            storeZeros(VKF_BACKWARD_TABLE.p);
        }
        storeZeros(VKF_BACKWARD_TABLE.ds);
    }
}

#endif
