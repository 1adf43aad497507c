// SPDX-License-Identifier: MIT
//
// Moves the subgroup's rows of q from device memory to the subgroup's own part of shared memory.
//
// Needs: matrix/half_rows.glsl, common/address.glsl, coopmat/globals.glsl.
// Provides: fetchQueries, signQueries, placeQueries.
#ifndef VKF_QUERY_STAGE_GLSL
#define VKF_QUERY_STAGE_GLSL

#include "matrix/query_words.glsl"

// Whether every word of a chunk of q has its columns in the row.
const bool Q_CHUNKS_EXIST = HEAD_DIM % (Q_CHUNK_WORDS * 8) == 0;

// A word of a packed row; `q` is the head of packed row 0. Rows past the last one repeat it, because nobody stores their
// results. Columns past the last one are zeros.
uvec4 queryWord(const HalfRows q, const uint packed_row, const uint column) {
    HalfRows head = q;
    if (PACKED_HEADS != 1) {
        head.address = add64(q.address, strideOffset(packed_row % PACKED_HEADS, params.head_stride[VKF_Q]));
    }
    uint row = min(queryRow(packed_row), head.count - 1);
    if (TYPE_Q == VKF_STORED_F32) {
        return roundedRowWord(halfRowAddress(head, row), column, HEAD_DIM, WHOLE_WORDS);
    }
    if (WHOLE_WORDS && Q_CHUNKS_EXIST) {
        return wordAt(head, row, column);
    }
    return wordOrZero(head, row, column, HEAD_DIM, WHOLE_WORDS);
}

void fetchQueries(const HalfRows q, const uint row_begin, const uint lane) {
    UNROLL for (uint i = 0; i < ROW_TILES * Q_CHUNKS * Q_LANE_WORDS; i++) {
        uint chunk = i / Q_LANE_WORDS;
        uint place = i % Q_LANE_WORDS * LANES + lane;
        uint row = row_begin + chunk / Q_CHUNKS * MATRIX_STEP + place / Q_CHUNK_WORDS;
        uint word = chunk % Q_CHUNKS * Q_CHUNK_WORDS + place % Q_CHUNK_WORDS;
        fetched_q[i] = queryWord(q, row, word * 8);
    }
}

// Moves the sign of the scale into q. The kernel can then multiply scores by the magnitude of the scale, and the largest
// product gives the largest score.
void signQueries() {
    bool negative = params.score_scale < 0.0;
    IF_AS_LOOP(negative) {
        UNROLL for (uint i = 0; i < ROW_TILES * Q_CHUNKS * Q_LANE_WORDS; i++) {
            fetched_q[i] ^= 0x80008000u;
        }
        negative = false;
    }
}

void placeQueries(const uint chunk, const uint begin, const uint lane) {
    UNROLL for (uint i = 0; i < Q_LANE_WORDS; i++) {
        uint place = i * LANES + lane;
        stage[begin + place / Q_CHUNK_WORDS * Q_CHUNK_ROW + place % Q_CHUNK_WORDS] =
            fetched_q[chunk * Q_LANE_WORDS + i];
    }
}

#endif
