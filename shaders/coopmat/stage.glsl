// SPDX-License-Identifier: MIT
//
// Moves q, and tiles of k and v, from device memory to shared memory, where they have the type of the matrices.
//
// A tile moves in two steps:
//   - Fetch: the kernel loads the tile into registers, with all loads in flight at once.
//   - Stage: the kernel stores it to shared memory, when the readers of the tile before are done.
//
// Rows that are not whole words skip the first step: the second step loads them element by element. Pieces of block
// types become words of the matrices' type in the second step. Columns past the last one, up to a whole number of
// matrices, are zeros.
#ifndef VKF_COOPMAT_STAGE_GLSL
#define VKF_COOPMAT_STAGE_GLSL

#include "matrix/half_rows.glsl"
#include "matrix/loaded_words.glsl"
#include "matrix/special_values.glsl"

#include "coopmat/globals.glsl"

// Infinity and NaN in v become zeros in shared memory, and are added to o at the end (matrix/special_values.glsl).
#define watchSpecialValues()                                                                                           \
    if (thread == 0) {                                                                                                 \
        special_values = 0u;                                                                                           \
    }
#define endSpecialValues()
#define SAW_SPECIAL_VALUES (special_values != 0u)
#define addSpecialValues(packed_row, column, x, special)                                                               \
    if (special) {                                                                                                     \
        Item of_row = item;                                                                                            \
        of_row.head = queryHead(item, packed_row);                                                                     \
        x += specialValues(of_row, v.address, queryRow(packed_row), column);                                           \
    }

// Load number `load` of this invocation's share of a tile. In a partial tile, rows past the last one read the last one
// again, so that no load leaves the tensor. A full tile has no such rows.
uvec4 fetchWord(const HalfRows rows, const uint tensor, const uint type, const uint key_begin, const uint row_words,
                const uint load, const bool full, const uint thread) {
    Words tile = Words(halfRowAddress(rows, key_begin));
    uint index = load * WORKGROUP_SIZE + thread;
    if (TILE_KEYS * row_words % WORKGROUP_SIZE != 0) {
        index = min(index, TILE_KEYS * row_words - 1);
    }
    uint row = tileKey(index / row_words);
    if (!full) {
        row = min(row, rows.count - 1 - key_begin);
    }
    if (VKF_IS_BLOCK_TYPE(type)) {
        return loadPiece(tileRowAddress(rows, tensor, key_begin, row), index % row_words, type);
    }
    if (PAGED || HAS_CHOSEN_KEYS) {
        return Words(tileRowAddress(rows, tensor, key_begin, row)).word[index % row_words];
    }
    return tile.word[row * (rows.row_stride / 16) + index % row_words];
}

// First step.
void fetchTile(const HalfRows k, const HalfRows v, const uint key_begin, const bool full, const uint thread) {
    if (WHOLE_WORDS) {
        UNROLL for (uint i = 0; i < K_FETCHES; i++) {
            fetched_k[i] = fetchWord(k, VKF_K, TYPE_K, key_begin, K_LOADS, i, full, thread);
        }
        UNROLL for (uint i = 0; i < V_FETCHES; i++) {
            fetched_v[i] = fetchWord(v, VKF_V, TYPE_V, key_begin, V_LOADS, i, full, thread);
        }
    }
}

void forgetTile() {
    FORGET(fetched_k, 0, K_FETCHES, uvec4(0));
    FORGET(fetched_v, 0, V_FETCHES, uvec4(0));
}

void stageWholeWords(const HalfRows v, const uint key_begin, const bool full, const uint thread) {
    UNROLL for (uint i = 0; i < K_FETCHES; i++) {
        uint index = i * WORKGROUP_SIZE + thread;
        UNROLL for (uint load_word = 0; load_word < K_LOAD_WORDS; load_word++) {
            if (TILE_KEYS * K_LOADS % WORKGROUP_SIZE == 0 || index < TILE_KEYS * K_LOADS) {
                stage[index / K_LOADS * K_ROW + wordOfLoad(index % K_LOADS, load_word, TYPE_K)] =
                    wordOfLoad(fetched_k[i], load_word, TYPE_K);
            }
        }
    }
    UNROLL for (uint i = 0; i < V_FETCHES; i++) {
        uint index = i * WORKGROUP_SIZE + thread;
        UNROLL for (uint load_word = 0; load_word < V_LOAD_WORDS; load_word++) {
            uvec4 word = wordOfLoad(fetched_v[i], load_word, TYPE_V);
            if (!full) {
                word = key_begin + tileKey(index / V_LOADS) < v.count ? finiteHalves(word) : uvec4(0);
            }
            if (TILE_KEYS * V_LOADS % WORKGROUP_SIZE == 0 || index < TILE_KEYS * V_LOADS) {
                stage[V_STAGE + index / V_LOADS * V_ROW + wordOfLoad(index % V_LOADS, load_word, TYPE_V)] = word;
            }
        }
    }
}

// Moves rows that are not whole words from device memory to shared memory, eight elements at a time.
void stageElements(const HalfRows rows, const uint tensor, const uint type, const uint key_begin, const uint dim,
                   const uint words, const uint begin, const uint row_words, const bool finite, const uint thread) {
    KEEP_LOOP for (uint index = thread; index < TILE_KEYS * words; index += WORKGROUP_SIZE) {
        uint key = key_begin + tileKey(index / words);
        uint column = index % words * 8;
        uvec4 word = uvec4(0); // past the last key or the last column
        if (key < rows.count && column < dim) {
            uint listed = listedKey(key);
            uvec2 address = keyAddress(rows.address, tensor, pageOf(rows.batch, listed), listed);
            if (VKF_IS_BLOCK_TYPE(type)) {
                word = loadBlockWord(address, column, type);
            } else {
                word = gatherHalves(address, column, dim);
            }
        }
        stage[begin + index / words * row_words + index % words] = finite ? finiteHalves(word) : word;
    }
}

// Second step. `full`: every row of the workgroup sees all keys of the tile.
void stageTile(const HalfRows k, const HalfRows v, const uint key_begin, const bool full, const uint thread) {
    if (WHOLE_WORDS) {
        stageWholeWords(v, key_begin, full, thread);
    } else {
        stageElements(k, VKF_K, TYPE_K, key_begin, HEAD_DIM, DIM_MATRICES * SLICE_WORDS, 0, K_ROW, false, thread);
        stageElements(v, VKF_V, TYPE_V, key_begin, VALUE_DIM, VALUE_MATRICES * V_SLICE_WORDS, V_STAGE, V_ROW, !full,
                      thread);
    }
}

// Writes zeros to the columns past the last word, which no tile overwrites.
void clearStage(const uint thread) {
    KEEP_LOOP for (uint i = thread; i < KV_WORDS; i += WORKGROUP_SIZE) {
        stage[i] = uvec4(0);
    }
}

#include "matrix/query_words.glsl"

// Whether every word of a chunk of q has its columns in the row.
const bool Q_CHUNKS_EXIST = HEAD_DIM % (Q_CHUNK_WORDS * 8) == 0;

// A word of a packed row; `q` is the head of packed row 0. Rows past the last one repeat it, because nobody stores
// their results. Columns past the last one are zeros.
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
    UNROLL for (uint i = 0; i < ROW_MATRICES * Q_CHUNKS * Q_LANE_WORDS; i++) {
        uint chunk = i / Q_LANE_WORDS;
        uint index = i % Q_LANE_WORDS * LANES + lane;
        uint row = row_begin + chunk / Q_CHUNKS * MATRIX_STRIDE + index / Q_CHUNK_WORDS;
        uint word = chunk % Q_CHUNKS * Q_CHUNK_WORDS + index % Q_CHUNK_WORDS;
        fetched_q[i] = queryWord(q, row, word * 8);
    }
}

// Moves the sign of the scale into q. The kernel can then multiply scores by the magnitude of the scale, and the
// largest product gives the largest score.
void signQueries() {
    bool negative = params.score_scale < 0.0;
    IF_AS_LOOP (negative) {
        UNROLL for (uint i = 0; i < ROW_MATRICES * Q_CHUNKS * Q_LANE_WORDS; i++) {
            fetched_q[i] ^= 0x80008000u;
        }
        negative = false;
    }
}

void stageQueries(const uint chunk, const uint begin, const uint lane) {
    UNROLL for (uint i = 0; i < Q_LANE_WORDS; i++) {
        uint index = i * LANES + lane;
        stage[begin + index / Q_CHUNK_WORDS * Q_CHUNK_ROW + index % Q_CHUNK_WORDS] =
            fetched_q[chunk * Q_LANE_WORDS + i];
    }
}

#endif
