// SPDX-License-Identifier: MIT
//
// s = q k^T as one invocation sees it. A group of LANES invocations owns THREAD_ROWS query rows; of
// those rows each lane holds the scores of THREAD_KEYS keys: lane, lane + LANES, lane + 2 LANES, ...
// Neighbouring lanes so read neighbouring rows of k (padded: no bank conflict), all lanes of a group
// the same word of q (a broadcast), and a row's maximum concerns the lanes of one group.
#ifndef VKF_SCORES_GLSL
#define VKF_SCORES_GLSL

shared vec4 q_stage[VKF_Q_WORDS(TILE_ROWS, CHUNK_DIM4)];

float s_tile[THREAD_ROWS * THREAD_KEYS];

// Columns [4 CHUNK_DIM4 chunk, ...) of the tile's rows of q.
void fetchQ(Rows q, Item item, uint chunk, uint thread) {
    fetch(q, VKF_Q, TYPE_Q, HEAD_DIM, ivec2(0, params.query_rows), item.row_begin, TILE_ROWS, chunk * CHUNK_DIM4,
          CHUNK_DIM4, 0, thread);
}

void placeQ(Item item, uint chunk, uint thread) {
    [[unroll]] for (uint i = 0; i < Q_FETCHES; i++) {
        uint place = i * WORKGROUP_SIZE + thread;
        if (place < TILE_ROWS * CHUNK_DIM4) {
            q_stage[place / CHUNK_DIM4 * STAGED_WORDS + place % CHUNK_DIM4] =
                fetchedWord(HEAD_DIM, ivec2(0, params.query_rows), item.row_begin, chunk * CHUNK_DIM4, CHUNK_DIM4, 0,
                            i, place);
        }
    }
}

void clearScores() {
    [[unroll]] for (uint i = 0; i < THREAD_ROWS * THREAD_KEYS; i++) {
        s_tile[i] = 0.0;
    }
}

// s += q k^T over the staged columns.
void accumulateScores(uint group, uint lane) {
    for (uint column4 = 0; column4 < CHUNK_DIM4; column4++) {
        vec4 k[THREAD_KEYS];
        [[unroll]] for (uint key = 0; key < THREAD_KEYS; key++) {
            k[key] = kv_stage[(lane + key * LANES) * STAGED_WORDS + column4];
        }
        [[unroll]] for (uint row = 0; row < THREAD_ROWS; row++) {
            vec4 q = q_stage[(group * THREAD_ROWS + row) * STAGED_WORDS + column4];
            [[unroll]] for (uint key = 0; key < THREAD_KEYS; key++) {
                float s = s_tile[row * THREAD_KEYS + key];
                s = fma(q.x, k[key].x, s);
                s = fma(q.y, k[key].y, s);
                s = fma(q.z, k[key].z, s);
                s_tile[row * THREAD_KEYS + key] = fma(q.w, k[key].w, s);
            }
        }
    }
}

#endif
