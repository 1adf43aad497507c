// SPDX-License-Identifier: MIT
//
// Moves the subgroup's rows of q from device memory to the subgroup's own part of shared memory.
//
// Needs: matrix/half_rows.glsl, common/address.glsl, coopmat/state.glsl.
// Provides: fetchQueries, placeQueries.
#ifndef VKF_QUERY_STAGE_GLSL
#define VKF_QUERY_STAGE_GLSL

#include "matrix/query_words.glsl"
#include "matrix/signed_word.glsl"

// A word of a packed row, with the sign of the scale. `q` is the head of packed row 0.
uvec4 queryWord(const HalfRows q, const uint packed_row, const uint column) {
    HalfRows head = q;
    if (PACKED_HEADS != 1) {
        head.address = add64(q.address, strideOffset(packed_row % PACKED_HEADS, params.head_stride[VKF_Q]));
    }
    uint row = queryRow(packed_row);
    if (TYPE_Q == VKF_STORED_F32) {
        uvec2 address = halfRowAddress(head, min(row, head.count - 1));
        return signedWord(roundedRowWord(address, row < head.count ? column : HEAD_DIM, HEAD_DIM, WHOLE_WORDS));
    }
    return signedWord(wordOrZero(head, row, column, HEAD_DIM, WHOLE_WORDS));
}

void fetchQueries(const HalfRows q, const uint row_begin, const uint lane) {
    UNROLL for (uint i = 0; i < ROW_TILES * Q_CHUNKS * Q_LANE_WORDS; i++) {
        uint chunk = i / Q_LANE_WORDS;
        uint place = i % Q_LANE_WORDS * LANES + lane;
        uint row = row_begin + chunk / Q_CHUNKS * MATRIX_ROWS + place / Q_CHUNK_WORDS;
        uint word = chunk % Q_CHUNKS * Q_CHUNK_WORDS + place % Q_CHUNK_WORDS;
        fetched_q[i] = queryWord(q, row, word * 8);
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
