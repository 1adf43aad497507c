// SPDX-License-Identifier: MIT
//
// Moves q and tiles of k and v from device memory to shared memory, where each part of their fp32 numbers (bf16x3.glsl)
// has rows of its own. Tiles move in two steps, as in coopmat/stage.glsl:
//   - Fetch: the kernel loads fp32 numbers into registers, with all loads in flight at once.
//   - Stage: the kernel divides the numbers into parts and stores these, when the readers of the tile before are done.
//
// Rows that are not whole words skip the first step. Columns past the last one, up to a whole number of matrices, are
// zeros or elements of the row. Rows past the last key of a partial tile repeat it. Their probabilities are 0.
#ifndef VKF_BF16X3_STAGE_GLSL
#define VKF_BF16X3_STAGE_GLSL

#include "coopmat/globals.glsl"

// Infinity, NaN and huge numbers make another kernel compute all again (endSpecialValues).
#define watchSpecialValues() largest_magnitude = 0u
#define SAW_SPECIAL_VALUES false
#define addSpecialValues(packed_row, column, x, special)

// Four elements of a row from `column` on, as bits; zeros past the end of the row. With whole words, the function
// always loads a word that exists.
uvec4 fourElements(const uvec2 row_address, const uint column, const uint dim) {
    if (WHOLE_WORDS) {
        uvec4 four = Word4(add64(row_address, uvec2(min(column, dim - 4) * 4, 0))).value;
        return column < dim ? four : uvec4(0);
    }
    uvec4 four = uvec4(0);
    UNROLL for (uint i = 0; i < 4; i++) {
        if (column + i < dim) {
            four[i] = Word(add64(row_address, uvec2((column + i) * 4, 0))).value;
        }
    }
    return four;
}

// Address of a packed row; `q` is the head of packed row 0. Rows past the last one repeat it, because nobody stores
// their results.
uvec2 queryRowAddress(const HalfRows q, const uint packed_row) {
    uvec2 head = q.address;
    if (PACKED_HEADS != 1) {
        head = add64(head, strideOffset(packed_row % PACKED_HEADS, params.head_stride[VKF_Q]));
    }
    return add64(head, multiply64(min(queryRow(packed_row), q.count - 1), q.row_stride));
}

void fetchQueries(const HalfRows q, const uint row_begin, const uint lane) {
    UNROLL for (uint i = 0; i < ROW_MATRICES * Q_CHUNKS * Q_LANE_WORDS; i++) {
        uint chunk = i / Q_LANE_WORDS;
        uint index = i % Q_LANE_WORDS * LANES + lane;
        uvec2 row = queryRowAddress(q, row_begin + chunk / Q_CHUNKS * MATRIX_STRIDE + index / Q_CHUNK_WORDS);
        uint column = (chunk % Q_CHUNKS * Q_CHUNK_WORDS + index % Q_CHUNK_WORDS) * 8;
        fetched_q[2 * i] = fourElements(row, column, HEAD_DIM);
        fetched_q[2 * i + 1] = fourElements(row, column + 4, HEAD_DIM);
    }
}

// Moves the sign of the scale into q. The kernel can then multiply scores by the magnitude of the scale, and the
// largest product gives the largest score.
void signQueries() {
    uint sign = floatBitsToUint(params.score_scale) & 0x80000000u;
    UNROLL for (uint i = 0; i < ROW_MATRICES * Q_CHUNKS * Q_LANE_WORDS * 2; i++) {
        noticeMagnitudes(fetched_q[i]);
        fetched_q[i] ^= sign;
    }
}

// Stages the next part of a chunk of q.
void stageQueries(const uint chunk, const uint begin, const uint lane) {
    UNROLL for (uint i = 0; i < Q_LANE_WORDS; i++) {
        uint index = i * LANES + lane;
        stage[begin + index / Q_CHUNK_WORDS * Q_CHUNK_ROW + index % Q_CHUNK_WORDS] =
            takeParts(fetched_q[2 * (chunk * Q_LANE_WORDS + i)], fetched_q[2 * (chunk * Q_LANE_WORDS + i) + 1]);
    }
}

// Loads word number `load` of this invocation's share of a tile: eight elements, in two loads. In a partial tile, rows
// past the last one read the last one again, so that no load leaves the tensor. A full tile has no such rows. Past the
// end of a row the second load reads its last elements again: q has zeros there, and nobody stores these columns of o.
void fetchWord(const HalfRows rows, const uint tensor, const uint key_begin, const uint dim, const uint load,
               const bool full, const uint thread, out uvec4 low, out uvec4 high) {
    uint words = (dim + 7) / 8;
    uint index = load * WORKGROUP_SIZE + thread;
    if (TILE_KEYS * words % WORKGROUP_SIZE != 0) {
        index = min(index, TILE_KEYS * words - 1);
    }
    uint row = tileKey(index / words);
    if (!full) {
        row = min(row, rows.count - 1 - key_begin);
    }
    uint first = index % words * 2;
    uint second = dim % 8 == 0 ? first + 1 : min(first + 1, dim / 4 - 1);
    if (PAGED) {
        Words in_row = Words(tileRowAddress(rows, tensor, key_begin, row));
        low = in_row.word[first];
        high = in_row.word[second];
        return;
    }
    Words tile = Words(halfRowAddress(rows, key_begin));
    uint row_begin = row * (rows.row_stride / 16);
    low = tile.word[row_begin + first];
    high = tile.word[row_begin + second];
}

// First step.
void fetchTile(const HalfRows k, const HalfRows v, const uint key_begin, const bool full, const uint thread) {
    if (WHOLE_WORDS) {
        UNROLL for (uint i = 0; i < K_FETCHES; i += 2) {
            fetchWord(k, VKF_K, key_begin, HEAD_DIM, i / 2, full, thread, fetched_k[i], fetched_k[i + 1]);
        }
        UNROLL for (uint i = 0; i < V_FETCHES; i += 2) {
            fetchWord(v, VKF_V, key_begin, VALUE_DIM, i / 2, full, thread, fetched_v[i], fetched_v[i + 1]);
        }
    }
}

void forgetTile() {
    FORGET(fetched_k, 0, K_FETCHES, uvec4(0));
    FORGET(fetched_v, 0, V_FETCHES, uvec4(0));
}

// Stores the parts of eight elements: the first part at word `to`, each other one `area` words behind the part before.
void stageParts(const uvec4 first, const uvec4 second, const uint to, const uint area) {
    uvec4 low = first;
    uvec4 high = second;
    noticeMagnitudes(low);
    noticeMagnitudes(high);
    UNROLL for (uint part = 0; part < BF16X3_PARTS; part++) {
        stage[to + part * area] = takeParts(low, high);
    }
}

// Stages a word that fetchWord loaded.
void stageWord(const uvec4 low, const uvec4 high, const uint dim, const uint load, const uint begin,
               const uint row_words, const uint thread) {
    uint words = (dim + 7) / 8;
    uint index = load * WORKGROUP_SIZE + thread;
    if (TILE_KEYS * words % WORKGROUP_SIZE == 0 || index < TILE_KEYS * words) {
        stageParts(low, high, begin + index / words * row_words + index % words, TILE_KEYS * row_words);
    }
}

// Moves rows that are not whole words from device memory to shared memory, eight elements at a time. `words` of a row
// include zeros past its end.
void stageElements(const HalfRows rows, const uint tensor, const uint key_begin, const uint dim, const uint words,
                   const uint begin, const uint row_words, const uint thread) {
    KEEP_LOOP for (uint index = thread; index < TILE_KEYS * words; index += WORKGROUP_SIZE) {
        uint key = min(key_begin + tileKey(index / words), rows.count - 1);
        uint column = index % words * 8;
        uvec2 row = keyAddress(rows.address, tensor, pageOf(rows.batch, key), key);
        stageParts(fourElements(row, column, dim), fourElements(row, column + 4, dim),
                   begin + index / words * row_words + index % words, TILE_KEYS * row_words);
    }
}

// Second step.
void stageTile(const HalfRows k, const HalfRows v, const uint key_begin, const bool full, const uint thread) {
    if (WHOLE_WORDS) {
        UNROLL for (uint i = 0; i < K_FETCHES; i += 2) {
            stageWord(fetched_k[i], fetched_k[i + 1], HEAD_DIM, i / 2, 0, K_ROW, thread);
        }
        UNROLL for (uint i = 0; i < V_FETCHES; i += 2) {
            stageWord(fetched_v[i], fetched_v[i + 1], VALUE_DIM, i / 2, V_STAGE, V_ROW, thread);
        }
    } else {
        stageElements(k, VKF_K, key_begin, HEAD_DIM, DIM_MATRICES * SLICE_WORDS, 0, K_ROW, thread);
        stageElements(v, VKF_V, key_begin, VALUE_DIM, VALUE_MATRICES * V_SLICE_WORDS, V_STAGE, V_ROW, thread);
    }
}

// Writes zeros to the columns past the last word, which no tile overwrites.
void clearStage(const uint thread) {
    KEEP_LOOP for (uint i = thread; i < KV_WORDS; i += WORKGROUP_SIZE) {
        stage[i] = uvec4(0);
    }
}

#endif
