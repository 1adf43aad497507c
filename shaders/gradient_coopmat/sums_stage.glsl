// SPDX-License-Identifier: MIT
//
// Moves steps of stored pairs and of visited rows from device memory to shared memory. A fetch loads words into
// registers, and a placement stores them when the readers of the step before are done.
//
// Needs: gradient_coopmat/sums_tile.glsl, gradient/bands.glsl, gradient/gradient_table.glsl, matrix/half_rows.glsl,
// matrix/query_words.glsl, the state of gradient_sums.comp. Provides: fetchStep, forgetStep, placeStep.
#ifndef VKF_SUMS_STAGE_GLSL
#define VKF_SUMS_STAGE_GLSL

// Eight rows of p or ds of a key, of head number `head` of the workgroup; zeros where the pass stored none.
uvec4 pairWord(const uint head, const uint key, const uint row) {
    uint tile = key / BAND_TILE_KEYS * BAND_TILE_KEYS;
    uvec2 seeing = rowsThatSee(item, tile, tile + BAND_TILE_KEYS);
    bool stored = key < band_end && row >= seeing.x / BAND_TILE_ROWS * BAND_TILE_ROWS &&
                  row < (seeing.y + BAND_TILE_ROWS - 1) / BAND_TILE_ROWS * BAND_TILE_ROWS;
    uint row_words = VKF_DS_ROWS(params.query_rows) / 8;
    uint place = (band_head + head) * BAND_KEYS + min(key, band_end - 1) - band_begin;
    uvec2 pairs = OWNS_KEYS && WRITES_DV ? VKF_GRADIENT_TABLE.p : VKF_GRADIENT_TABLE.ds;
    uvec4 word = Words(pairs).word[place * row_words + min(row / 8, row_words - 1)];
    return stored ? word : uvec4(0);
}

// Eight elements of a visited row; zeros where it does not exist. It does not call wordOrZero, because chains of calls
// must be short (docs/tuning.md, "Chains of calls").
uvec4 visitedWord(const uint head, const uint row, const uint column) {
    HalfRows rows = visited;
    if (OWNS_KEYS) {
        rows.address = add64(rows.address, strideOffset(head, params.head_stride[VISITED_TENSOR]));
    }
    uvec2 address = halfRowAddress(rows, min(row, rows.count - 1));
    uint dim = row < rows.count ? SUMS_DIM : 0;
    if (TYPE_VISITED == VKF_STORED_F32) {
        return roundedRowWord(address, dim != 0 ? column : SUMS_DIM, SUMS_DIM, WHOLE_WORDS);
    }
    if (!WHOLE_WORDS) {
        return gatherHalves(address, column, dim);
    }
    uvec4 word = Words(address).word[column / 8]; // VISITED_WORDS words exist
    return dim != 0 ? word : uvec4(0);
}

void fetchStep(const uint head, const uint begin) {
    UNROLL for (uint i = 0; i < PAIR_FETCHES; i++) {
        uint place = min(i * WORKGROUP_SIZE + thread, PAIR_PLACES - 1);
        uint key = (OWNS_KEYS ? owned_begin : begin) + place / PAIR_WORDS;
        uint row = (OWNS_KEYS ? begin : owned_begin) + place % PAIR_WORDS * 8;
        fetched_pairs[i] = pairWord(head, key, row);
    }
    UNROLL for (uint i = 0; i < VISITED_FETCHES; i++) {
        uint place = min(i * WORKGROUP_SIZE + thread, VISITED_PLACES - 1);
        fetched_visited[i] = visitedWord(head, begin + place / VISITED_WORDS, place % VISITED_WORDS * 8);
    }
}

void forgetStep() {
    FORGET(fetched_pairs, 0, PAIR_FETCHES, uvec4(0))
    FORGET(fetched_visited, 0, VISITED_FETCHES, uvec4(0))
}

void placeStep() {
    UNROLL for (uint i = 0; i < PAIR_FETCHES; i++) {
        uint place = i * WORKGROUP_SIZE + thread;
        if (PAIR_PLACES % WORKGROUP_SIZE == 0 || place < PAIR_PLACES) {
            stage[place / PAIR_WORDS * PAIR_ROW + place % PAIR_WORDS] = fetched_pairs[i];
        }
    }
    UNROLL for (uint i = 0; i < VISITED_FETCHES; i++) {
        uint place = i * WORKGROUP_SIZE + thread;
        if (VISITED_PLACES % WORKGROUP_SIZE == 0 || place < VISITED_PLACES) {
            stage[VISITED_STAGE + place / VISITED_WORDS * VISITED_ROW + place % VISITED_WORDS] = fetched_visited[i];
        }
    }
}

#endif
