// SPDX-License-Identifier: MIT
//
// Line 14 of the algorithm (attention_coopmat.comp), where rows of o are whole words of 16 bytes: stores o as words. o
// is converted to its own type before it is staged. This way has the least code, and code that runs once waits for its
// own instructions. store.glsl stores all other rows.
#ifndef VKF_COOPMAT_STORE_WORDS_GLSL
#define VKF_COOPMAT_STORE_WORDS_GLSL

const bool O_IS_F32 = TYPE_O == VKF_STORED_F32;
// Matrices of a row tile that are staged side by side as words of o.
const uint O_STAGED_MATRICES = O_IS_F32 ? VKF_MATRIX_STAGED_TILES / 2 : VKF_MATRIX_STAGED_TILES;
const uint O_MATRIX_WORDS = O_IS_F32 ? MATRIX_DEPTH / 4 : MATRIX_DEPTH / 8;      // words in a row of a matrix
const uint O_CHUNKS = (VALUE_TILES + O_STAGED_MATRICES - 1) / O_STAGED_MATRICES; // chunks of a row tile
const uint O_WORDS = O_IS_F32 ? VALUE_DIM / 4 : VALUE_DIM / 8;                   // words in a row

// Converts an element of o, with the rounding of packF16 or packBf16. An fp16 must not be past the largest one
// (exceedsF16).
Half storedHalf(const float x) {
    return MATRICES_ARE_BF16 ? UPPER_HALF(packBf16(vec2(0.0, x))) : Half(x);
}

void stageMatrixOfWords(const uint matrix, const uint begin) {
    if (O_IS_F32) {
        coopMatStore(o_tile[matrix], stage, begin, Q_CHUNK_ROW, gl_CooperativeMatrixLayoutRowMajor);
        return;
    }
    LeftMatrix o_half;
    UNROLL for (uint e = 0; e < ELEMENTS; e++) {
        o_half[e] = storedHalf(o_tile[matrix][e]);
    }
    coopMatStore(o_half, stage, begin, Q_CHUNK_ROW, gl_CooperativeMatrixLayoutRowMajor);
}

// A lane stores each STORE_ROWS-th row of a chunk. Where these rows have the same head, one address leads to all of
// them.
const uint STORE_ROWS = LANES / Q_CHUNK_WORDS;
const bool STORES_ONE_HEAD = LANES % Q_CHUNK_WORDS == 0 && STORE_ROWS % PACKED_HEADS == 0;
// Rows are counted up from the lane's first row, or derived from the place in the chunk. The results are the same, but
// NVIDIA's compiler then finds other registers for the loops over keys. With D = 128 counting is 3 % faster, with D =
// 64 it is 2 % slower (docs/tuning.md, "rows of o counted up").
const bool COUNTS_ROWS = STORES_ONE_HEAD && ROW_TILES * O_CHUNKS > 2;

uvec2 addressAfter(const uvec2 first, const uint rows) {
    return add64(first, multiply64(rows / PACKED_HEADS, params.row_stride[VKF_O]));
}

void storeWords(const uvec2 head, const uint begin, const uint row_begin, const uint word_begin) {
    uint lane_word = word_begin + lane % Q_CHUNK_WORDS;
    uint lane_row = row_begin + lane / Q_CHUNK_WORDS;
    uvec2 first = add64(outputRow(head, lane_row), uvec2(lane_word * 16, 0));
    if (COUNTS_ROWS) {
        UNROLL for (uint i = 0; i < Q_LANE_WORDS; i++) {
            if (lane_row + i * STORE_ROWS < packedRows(item) && lane_word < O_WORDS) {
                Word4(addressAfter(first, i * STORE_ROWS)).value =
                    stage[begin + (lane / Q_CHUNK_WORDS + i * STORE_ROWS) * Q_CHUNK_ROW + lane % Q_CHUNK_WORDS];
            }
        }
        return;
    }
    UNROLL for (uint i = 0; i < Q_LANE_WORDS; i++) {
        uint place = i * LANES + lane;
        uint row = row_begin + place / Q_CHUNK_WORDS;
        uint word = word_begin + place % Q_CHUNK_WORDS;
        if (row < packedRows(item) && word < O_WORDS) {
            uvec2 address = STORES_ONE_HEAD ? addressAfter(first, i * STORE_ROWS)
                                            : add64(outputRow(head, row), uvec2(word * 16, 0));
            Word4(address).value = stage[begin + place / Q_CHUNK_WORDS * Q_CHUNK_ROW + place % Q_CHUNK_WORDS];
        }
    }
}

// The outer loop stays a loop, here and in storeMatricesAsElements, so that the code that stores exists once. The
// unrolled loop inside selects its matrices by comparing numbers. NVIDIA's compiler keeps matrices in memory if a
// variable indexes them, or if a function that it does not inline uses them. See docs/kernel_rules.md, "Loops over
// matrices count to a constant".
void storeMatricesAsWords(const uvec2 head, const uint begin) {
    KEEP_LOOP for (uint chunk = 0; chunk < ROW_TILES * O_CHUNKS; chunk++) {
        UNROLL for (uint i = 0; i < MATRICES; i++) {
            const uint column = i % VALUE_TILES;
            if (i / VALUE_TILES * O_CHUNKS + column / O_STAGED_MATRICES == chunk) {
                stageMatrixOfWords(i, begin + column % O_STAGED_MATRICES * O_MATRIX_WORDS);
            }
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        storeWords(head, begin, first_row + chunk / O_CHUNKS * MATRIX_STEP,
                   chunk % O_CHUNKS * O_STAGED_MATRICES * O_MATRIX_WORDS);
        subgroupBarrier();
    }
}

#endif
