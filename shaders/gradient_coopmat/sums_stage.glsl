// SPDX-License-Identifier: MIT
//
// Moves steps of stored pairs and of visited rows from device memory to where the products read them. A fetch loads
// words into registers, two steps ahead. A placement brings those of a step to shared memory, and zeros in place of
// pairs that were not stored. A fetch that selected zeros would wait for its words. Rows past the last one are that row
// again: their pairs are zeros.
//
// Needs: gradient_coopmat/sums_tile.glsl, gradient_coopmat/stored_matrices.glsl, gradient/gradient_table.glsl,
// matrix/half_rows.glsl, matrix/query_words.glsl, the state of gradient_sums.comp.
// Provides: VKF_FETCH_STEP, VKF_FORGET_STEP, VKF_PLACE_STEP, VKF_TAKE_WORDS, VKF_LOAD_STORED.
#ifndef VKF_SUMS_STAGE_GLSL
#define VKF_SUMS_STAGE_GLSL

// Matrices of pairs that a subgroup fetches in a step: those that it owns if it owns keys, else every SUBGROUPS-th one
// of the workgroup.
const uint ROW_MATRICES = OWNED / MATRIX_DEPTH; // of a workgroup that owns rows
const uint STEP_MATRICES = VISITED_STEPS * ROW_MATRICES;

// Whether the matrices of a step have keys of one stored tile, as far as the numbers tell.
const bool STEPS_HAVE_ONE_TILE = BAND_TILE_KEYS % (OWNS_KEYS ? OWNED : STEP) == 0;

// The key and the row that a fetched matrix begins with. `begin`: the first visited row or key of the step.
uvec2 fetchedPlace(const uint number, const uint begin) {
    if (OWNS_KEYS) {
        return uvec2(owned_begin + subgroupOwned() + number % OWNED_TILES * MATRIX_ROWS,
                     begin + number / OWNED_TILES * MATRIX_DEPTH);
    }
    uint matrix = min(number * SUBGROUPS + subgroup, STEP_MATRICES - 1);
    return uvec2(begin + matrix / ROW_MATRICES * MATRIX_ROWS, owned_begin + matrix % ROW_MATRICES * MATRIX_DEPTH);
}

// The first key of the stored tile that has the matrices of a step with a key. `begin`: of the step. The last matrices of
// an owner of keys may be past the band.
uint storedTileKey(const uint key, const uint begin) {
    uint tile_key = STEPS_HAVE_ONE_TILE ? (OWNS_KEYS ? owned_begin : begin) : min(key, band_end - 1);
    return tile_key / BAND_TILE_KEYS * BAND_TILE_KEYS;
}

StoredTile storedTileAt(const uint tile_key) {
    return storedTile(item, tile_key, (tile_key - band_begin) / BAND_TILE_KEYS);
}

// Whether the pass stored the matrix that begins with a key and a row.
bool isStored(const StoredTile tile, const uint key, const uint row) {
    return key < band_end && row >= tile.rows.x && row < tile.rows.y;
}

// The first word of the matrix that begins with a key and a row, of head number `head` of the workgroup. If the matrix was
// not stored, that of another one.
uint existingWord(const StoredTile tile, const uint tile_key, const uint head, const uint key, const uint row) {
    uint existing_key = min(key - tile_key, BAND_TILE_KEYS - MATRIX_ROWS);
    uint existing_row = tile.rows.x < tile.rows.y ? clamp(row, tile.rows.x, tile.rows.y - MATRIX_DEPTH) : tile.rows.x;
    return (band_head + head) * STORED_HEAD_WORDS + storedWord(tile, existing_key, existing_row);
}

// Loads a stored matrix where the element layout is not known. It is a macro for the reason of VKF_STORE_OPERANDS.
#define VKF_LOAD_STORED(matrix, head, begin, key, row, exists)                                                \
    uint tile_key = storedTileKey(key, begin);                                                                 \
    StoredTile tile = storedTileAt(tile_key);                                                                  \
    uint word = existingWord(tile, tile_key, head, key, row);                                                  \
    if (OWNS_KEYS) {                                                                                           \
        coopMatLoad(matrix, Words(pairs_address).word, word, STORED_ROW, gl_CooperativeMatrixLayoutRowMajor);  \
    } else {                                                                                                   \
        coopMatLoad(matrix, Words(pairs_address).word, word, STORED_ROW, gl_CooperativeMatrixLayoutColumnMajor); \
    }                                                                                                          \
    bool is_zero = !(exists) || !isStored(tile, key, row);                                                     \
    for (int e = 0; e < matrix.length(); e++) {                                                                \
        matrix[e] = Half(CHOOSE(float(matrix[e]), 0.0, is_zero));                                              \
    }

// Eight elements of a visited row, or of the last one that exists. `rows` begins with the step's first row. It does not
// call wordOrZero, because chains of calls must be short (docs/tuning.md, "Chains of calls").
uvec4 visitedWord(const HalfRows rows, const uint row, const uint column) {
    uint existing = min(row, rows.count - 1);
    if (WHOLE_WORDS && TYPE_VISITED != VKF_STORED_F32) { // VISITED_WORDS words exist
        return Words(rows.address).word[existing * (rows.row_stride / 16) + column / 8];
    }
    uvec2 address = halfRowAddress(rows, existing);
    if (TYPE_VISITED == VKF_STORED_F32) {
        return roundedRowWord(address, column, SUMS_DIM, WHOLE_WORDS);
    }
    return gatherHalves(address, column, SUMS_DIM);
}

// The visited rows of a head from row `begin` on, which exists.
HalfRows visitedRows(const uint head, const uint begin) {
    HalfRows rows = visited;
    if (OWNS_KEYS) {
        rows.address = add64(rows.address, strideOffset(head, params.head_stride[VISITED_TENSOR]));
    }
    rows.address = halfRowAddress(rows, begin);
    rows.count -= begin;
    return rows;
}

// Fetches the words of a step: of `pairs` and of `words`, which are those of even or of odd steps. The arrays are named
// in macros, because NVIDIA's compiler keeps an array in memory whose index a function gets as a parameter.
#define VKF_FETCH_STEP(pairs, words, head, begin)                                                             \
    UNROLL for (uint i = 0; i < (PAIRS_BY_LANE ? PAIR_MATRICES : 0); i++) {                                    \
        uvec2 place = fetchedPlace(i, begin);                                                                  \
        uint tile_key = storedTileKey(place.x, begin);                                                         \
        uint word = existingWord(storedTileAt(tile_key), tile_key, head, place.x, place.y) +                   \
                    thread % LANES * LANE_WORDS;                                                               \
        UNROLL for (uint w = 0; w < LANE_WORDS; w++) {                                                         \
            pairs[i * LANE_WORDS + w] = Words(pairs_address).word[word + w];                                   \
        }                                                                                                      \
    }                                                                                                          \
    HalfRows rows = visitedRows(head, begin);                                                                  \
    UNROLL for (uint i = 0; i < VISITED_FETCHES; i++) {                                                        \
        uint place = min(i * WORKGROUP_SIZE + thread, VISITED_PLACES - 1);                                     \
        words[i] = visitedWord(rows, place / VISITED_WORDS, place % VISITED_WORDS * 8);                        \
    }

// Zeros add nothing to the sums.
#define VKF_FORGET_STEP(pairs, words)                                                                          \
    FORGET(pairs, 0, PAIR_MATRICES * LANE_WORDS, uvec4(0))                                                     \
    FORGET(words, 0, VISITED_FETCHES, uvec4(0))

// Gives the elements of the words of fetched matrix `number` to a left operand. `begin`: of the step.
#define VKF_TAKE_WORDS(matrix, words, number, begin)                                                          \
    uvec2 taken = fetchedPlace(number, begin);                                                                 \
    bool stored = isStored(storedTileAt(storedTileKey(taken.x, begin)), taken.x, taken.y);                     \
    UNROLL for (uint e = 0; e < LANE_WORDS * 8; e += 2) {                                                      \
        uint two = words[(number) * LANE_WORDS + e / 8][e / 2 % 4];                                            \
        f16vec2 elements = unpackFloat2x16(stored ? two : 0u);                                                 \
        matrix[e] = elements.x;                                                                                \
        matrix[e + 1] = elements.y;                                                                            \
    }

// Brings the words of a step to shared memory. If keys are owned, its pairs stay in registers.
#define VKF_PLACE_STEP(pairs, words, begin)                                                                   \
    UNROLL for (uint i = 0; i < (PAIRS_BY_LANE && !OWNS_KEYS ? PAIR_MATRICES : 0); i++) {                      \
        uint number = i * SUBGROUPS + subgroup;                                                                \
        if (STEP_MATRICES % SUBGROUPS == 0 || UNIFORM_BY_VOTE(number < STEP_MATRICES)) {                       \
            LeftMatrix matrix;                                                                                 \
            VKF_TAKE_WORDS(matrix, pairs, i, begin)                                                            \
            coopMatStore(matrix, stage, placedPair(number), PAIR_ROW, gl_CooperativeMatrixLayoutRowMajor);     \
        }                                                                                                      \
    }                                                                                                          \
    UNROLL for (uint i = 0; i < VISITED_FETCHES; i++) {                                                        \
        uint place = i * WORKGROUP_SIZE + thread;                                                              \
        uint row = place / VISITED_WORDS;                                                                      \
        if (VISITED_PLACES % WORKGROUP_SIZE == 0 || place < VISITED_PLACES) {                                  \
            stage[VISITED_STAGE + row * VISITED_ROW + place % VISITED_WORDS] = words[i];                       \
        }                                                                                                      \
    }

// The first word of a matrix of pairs in shared memory, if rows are owned.
uint placedPair(const uint number) {
    return number / ROW_MATRICES * MATRIX_ROWS * PAIR_ROW + number % ROW_MATRICES * STORED_ROW;
}

#endif
