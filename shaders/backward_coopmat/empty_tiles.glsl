// SPDX-License-Identifier: MIT
//
// Zeros in a band (backward/bands.glsl) for empty tiles that backward_sums.comp may read. They have a loop of their
// own, because a branch in the loops over other tiles takes registers there. Only kernels with lists
// (backward/tile_lists.glsl) leave empty tiles out of these loops.
#ifndef VKF_EMPTY_TILES_GLSL
#define VKF_EMPTY_TILES_GLSL

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
    openPart(EMPTY_TILES);
    KEEP_LOOP while (UNIFORM_BY_VOTE(nextListedTile(EMPTY_TILES))) {
        beginPairs();
        if (STORES_P) {
            storeZeros(VKF_BACKWARD_TABLE.p);
        }
        storeZeros(VKF_BACKWARD_TABLE.ds);
    }
}

#endif
