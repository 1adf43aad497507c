// SPDX-License-Identifier: MIT
//
// Lines 4 and 5 of the algorithm (attention_decode_matrix.comp): loads q into its matrices, and clears the query row.
//
// Needs: decode_matrix/globals.glsl, decode_matrix/chunk_columns.glsl, cache/row_loads.glsl,
// common/address.glsl, scores/score_terms.glsl.
// Provides: loadQueries, clearState.
#ifndef VKF_DECODE_MATRIX_BEGIN_GLSL
#define VKF_DECODE_MATRIX_BEGIN_GLSL

#include "matrix/query_words.glsl"
#include "matrix/signed_word.glsl"

// A word of q whose elements have the order of k's elements, for a k of a block type.
uvec4 queryOfBlocks(const uvec2 row, const uint word) {
    uvec4 loaded = uvec4(0);
    UNROLL for (uint i = 0; i < 8; i++) {
        if (TYPE_Q == VKF_STORED_F32) {
            float x = loadElementOrZero(row, keyColumn(word, i), HEAD_DIM, TYPE_Q);
            loaded[i / 2] |= roundedPair(vec2(x, 0.0)) << i % 2 * 16;
        } else {
            loaded[i / 2] |= halfAt(row, keyColumn(word, i), HEAD_DIM) << i % 2 * 16;
        }
    }
    return loaded;
}

// A word of q in the order of its columns.
uvec4 queryWord(const uvec2 row, const uint word) {
    if (TYPE_Q == VKF_STORED_F32) {
        return roundedRowWord(row, word * 8, HEAD_DIM, WHOLE_WORDS);
    }
    return rowWord(row, word, HEAD_DIM, TYPE_Q, DEPTH_LANES);
}

// Line 4. Rows that do not exist are zeros.
void loadQueries() {
    UNROLL for (uint i = 0; i < ROW_TILES * QUERY_FRAGMENT_ROWS; i++) {
        const uint first = i / QUERY_FRAGMENT_ROWS * DIM_TILES;
        const uint fragment_row = i % QUERY_FRAGMENT_ROWS;
        uint packed_row = first_row + rowOfColumn(i / QUERY_FRAGMENT_ROWS, fragmentKey(fragment_row));
        uint existing = min(packed_row, packedRows(item) - 1);
        uvec2 head = headAddress(params.q, VKF_Q, item.batch, queryHead(item, existing), item.first_row);
        uvec2 row = rowAddress(head, VKF_Q, queryRow(existing));
        UNROLL for (uint word = 0; word < K_LANE_WORDS; word++) {
            const uint number = word * DEPTH_LANES + (lane & COLUMN_LANES);
            uvec4 loaded = K_BLOCKS ? queryOfBlocks(row, word) : queryWord(row, number);
            loaded = packed_row == existing ? signedWord(loaded) : uvec4(0);
            UNROLL for (uint e = 0; e < 8; e++) {
                q_tile[first + word * WORD_DEPTHS + e / FRAGMENT_ROW_ELEMENTS][fragment_row * FRAGMENT_ROW_ELEMENTS + e % FRAGMENT_ROW_ELEMENTS] =
                    halfOf(loaded, e);
            }
        }
    }
}

void clearState() {
    UNROLL for (uint i = 0; i < OUTPUT_TILES * VALUE_TILES; i++) {
        o_tile[i] = ResultMatrix(0.0);
    }
    UNROLL for (uint query_row = 0; query_row < LANE_QUERY_ROWS; query_row++) {
        m_row[query_row] = BEFORE_ANY_KEY;
        l_row[query_row] = 0.0;
        slope_row[query_row] = slopeOf(queryHead(item, first_row + rowOfQuery(query_row)));
        if (HAS_DROPOUT) {
            uint packed_row = first_row + rowOfQuery(query_row);
            dropout_row[HAS_DROPOUT ? query_row : 0] =
                rowDropout(item, queryHead(item, packed_row), queryRow(packed_row));
        }
    }
}

#endif
