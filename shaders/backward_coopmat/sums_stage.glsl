// SPDX-License-Identifier: MIT
//
// Moves steps of stored pairs and of visited rows from device memory to where the products read them. A fetch loads
// words into registers, two steps ahead. A second step stores those of a step to shared memory, and zeros in place of
// pairs that were not stored. A fetch that selected zeros would wait for its words. Rows past the last one are that row
// again: their pairs are zeros.
#ifndef VKF_SUMS_STAGE_GLSL
#define VKF_SUMS_STAGE_GLSL

// Matrices of pairs that a subgroup fetches in a step: those that it owns if it owns keys, else every SUBGROUPS-th one
// of the workgroup.
const uint OWNED_ROW_MATRICES = OWNED / MATRIX_DEPTH; // of a workgroup that owns rows
const uint STAGED_PAIR_MATRICES = VISITED_STEPS * OWNED_ROW_MATRICES;

uint first_words[PAIR_MATRICES]; // of the invocation in each of its matrices, without the words to the step
StoredTile owned_tile;           // if keys are owned: the stored tile that has them

// The key and the row that a fetched matrix begins with. `begin`: the first visited row or key of the step.
uvec2 fetchedPosition(const uint number, const uint begin) {
    if (OWNS_KEYS) {
        return uvec2(owned_begin + subgroupOwned() + number % OWNED_MATRICES * MATRIX_ROWS,
                     begin + number / OWNED_MATRICES * MATRIX_DEPTH);
    }
    uint matrix = min(number * SUBGROUPS + subgroup, STAGED_PAIR_MATRICES - 1);
    return uvec2(begin + matrix / OWNED_ROW_MATRICES * MATRIX_ROWS,
                 owned_begin + matrix % OWNED_ROW_MATRICES * MATRIX_DEPTH);
}

// The stored tile that has the keys of a step. The host chooses tiles for which there is one.
StoredTile tileOfStep(const uint begin) {
    if (OWNS_KEYS) {
        return owned_tile;
    }
    return storedTile(item, begin / BAND_TILE_KEYS * BAND_TILE_KEYS, (begin - band_begin) / BAND_TILE_KEYS);
}

bool isStored(const uvec2 rows, const uint row) {
    return row >= rows.x && row < rows.y;
}

// Matrices next to the rows of a tile were not stored. Their words are those of other tiles, or of a margin that the
// host reserves.
void beginFetches() {
    if (OWNS_KEYS) {
        owned_tile = storedTile(item, owned_begin / BAND_TILE_KEYS * BAND_TILE_KEYS,
                                (owned_begin - band_begin) / BAND_TILE_KEYS);
    }
    UNROLL for (uint i = 0; i < (PAIRS_BY_LANE ? PAIR_MATRICES : 0); i++) {
        uvec2 position = fetchedPosition(i, 0);
        first_words[i] = band_head * STORED_HEAD_WORDS +
                         storedWord(StoredTile(uvec2(0), 0), position.x % BAND_TILE_KEYS, position.y) +
                         thread % LANES * LANE_WORDS;
    }
}

uint wordsToStep(const StoredTile tile, const uint head, const uint begin) {
    return OWNS_KEYS ? head * STORED_HEAD_WORDS + storedWord(tile, 0, begin)
                     : storedWord(tile, begin % BAND_TILE_KEYS, 0);
}

// Loads a stored matrix where the element layout is not known. It is a macro for the reason of VKF_STORE_OPERANDS.
#define VKF_LOAD_STORED(matrix, head, begin, key, row, exists)                                                         \
    StoredTile tile = tileOfStep(begin);                                                                               \
    uint word = (band_head + (head)) * STORED_HEAD_WORDS + storedWord(tile, (key) % BAND_TILE_KEYS, row);              \
    if (OWNS_KEYS) {                                                                                                   \
        coopMatLoad(matrix, Words(pairs_address).word, word, STORED_ROW, gl_CooperativeMatrixLayoutRowMajor);          \
    } else {                                                                                                           \
        coopMatLoad(matrix, Words(pairs_address).word, word, STORED_ROW, gl_CooperativeMatrixLayoutColumnMajor);       \
    }                                                                                                                  \
    bool is_zero = !(exists) || !isStored(tile.rows, row);                                                             \
    for (int e = 0; e < matrix.length(); e++) {                                                                        \
        matrix[e] = Half(CHOOSE(float(matrix[e]), 0.0, is_zero));                                                      \
    }

// Eight elements of a visited row, or of the last one that exists. `rows` begins with the step's first row. It does not
// call wordOrZero, because chains of calls must be short (docs/kernel_rules.md, "Chains of calls").
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

// Fetches the words of a step: of `pairs` and of `words`, which are those of even or of odd steps. Sets `tile_rows`,
// the rows that the step's tile has. The arrays are named in macros, because NVIDIA's compiler keeps an array in memory
// whose index a function gets as a parameter.
#define VKF_FETCH_STEP(pairs, words, tile_rows, head, begin)                                                           \
    StoredTile tile = tileOfStep(begin);                                                                               \
    tile_rows = tile.rows;                                                                                             \
    uint step_words = wordsToStep(tile, head, begin);                                                                  \
    UNROLL for (uint i = 0; i < (PAIRS_BY_LANE ? PAIR_MATRICES : 0); i++) {                                            \
        UNROLL for (uint w = 0; w < LANE_WORDS; w++) {                                                                 \
            pairs[i * LANE_WORDS + w] = Words(pairs_address).word[first_words[i] + step_words + w];                    \
        }                                                                                                              \
    }                                                                                                                  \
    HalfRows visited_rows = visitedRows(head, begin);                                                                  \
    UNROLL for (uint i = 0; i < VISITED_FETCHES; i++) {                                                                \
        uint index = min(i * WORKGROUP_SIZE + thread, VISITED_WORD_COUNT - 1);                                         \
        words[i] = visitedWord(visited_rows, index / VISITED_WORDS, index % VISITED_WORDS * 8);                        \
    }

// Zeros add nothing to the sums.
#define VKF_FORGET_STEP(pairs, words)                                                                                  \
    FORGET(pairs, 0, PAIR_MATRICES * LANE_WORDS, uvec4(0))                                                             \
    FORGET(words, 0, VISITED_FETCHES, uvec4(0));

// Gives the elements of the words of fetched matrix `number` to a left operand. `tile_rows` and `begin`: of the step.
#define VKF_TAKE_WORDS(matrix, words, tile_rows, number, begin)                                                        \
    bool stored = isStored(tile_rows, fetchedPosition(number, begin).y);                                               \
    UNROLL for (uint e = 0; e < LANE_WORDS * 8; e += 2) {                                                              \
        uint two = words[(number)*LANE_WORDS + e / 8][e / 2 % 4];                                                      \
        f16vec2 elements = unpackFloat2x16(stored ? two : 0u);                                                         \
        matrix[e] = elements.x;                                                                                        \
        matrix[e + 1] = elements.y;                                                                                    \
    }

// Brings the words of a step to shared memory. If keys are owned, its pairs stay in registers.
#define VKF_STAGE_STEP(pairs, words, tile_rows, begin)                                                                 \
    UNROLL for (uint i = 0; i < (PAIRS_BY_LANE && !OWNS_KEYS ? PAIR_MATRICES : 0); i++) {                              \
        uint number = i * SUBGROUPS + subgroup;                                                                        \
        if (STAGED_PAIR_MATRICES % SUBGROUPS == 0 || UNIFORM_BY_VOTE(number < STAGED_PAIR_MATRICES)) {                 \
            LeftMatrix matrix;                                                                                         \
            VKF_TAKE_WORDS(matrix, pairs, tile_rows, i, begin)                                                         \
            coopMatStore(matrix, stage, stagedPair(number), PAIR_ROW, gl_CooperativeMatrixLayoutRowMajor);             \
        }                                                                                                              \
    }                                                                                                                  \
    UNROLL for (uint i = 0; i < VISITED_FETCHES; i++) {                                                                \
        uint index = i * WORKGROUP_SIZE + thread;                                                                      \
        uint row = index / VISITED_WORDS;                                                                              \
        if (VISITED_WORD_COUNT % WORKGROUP_SIZE == 0 || index < VISITED_WORD_COUNT) {                                  \
            stage[VISITED_STAGE + row * VISITED_ROW + index % VISITED_WORDS] = words[i];                               \
        }                                                                                                              \
    }

// The first word of a matrix of pairs in shared memory, if rows are owned.
uint stagedPair(const uint number) {
    return number / OWNED_ROW_MATRICES * MATRIX_ROWS * PAIR_ROW + number % OWNED_ROW_MATRICES * STORED_ROW;
}

#endif
