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

// Columns [chunk * 4 * CHUNK_DIM4, ...) of TILE_ROWS rows of q.
void stageQ(Rows q, Item item, uint chunk, uint thread) {
    [[unroll]] for (uint i = 0; i < TILE_ROWS * CHUNK_DIM4; i += WORKGROUP_SIZE) {
        uint word = i + thread;
        uint row = word / CHUNK_DIM4;
        uint column4 = word % CHUNK_DIM4;
        if (word < TILE_ROWS * CHUNK_DIM4) {
            vec4 x = vec4(0.0);
            if (item.row_begin + row < params.query_rows) {
                uvec2 address = rowAddress(q.address, VKF_Q, item.row_begin + row);
                x = loadRow4(address, (chunk * CHUNK_DIM4 + column4) * 4, HEAD_DIM, TYPE_Q, q.aligned4);
            }
            q_stage[row * STAGED_WORDS + column4] = x;
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
