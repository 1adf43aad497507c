// SPDX-License-Identifier: MIT
//
// Line 8 of the algorithm (attention_scalar.comp), s = q k^T, as one invocation sees it. A group of LANES invocations
// owns THREAD_ROWS query rows. In each row, a lane holds the scores of THREAD_KEYS keys: lane, lane + LANES, lane + 2
// LANES, ... This has three reasons:
//   - Neighbouring lanes read neighbouring rows of k. Rows are padded, so there is no bank conflict.
//   - All lanes of a group read one word of q (a broadcast).
//   - The maximum of a row needs only the lanes of one group.
#ifndef VKF_SCORES_GLSL
#define VKF_SCORES_GLSL

shared vec4 q_stage[VKF_Q_WORDS(TILE_ROWS, CHUNK_DIM4)];

float s_tile[THREAD_ROWS * THREAD_KEYS];

// Fetches 4 CHUNK_DIM4 columns of the tile's rows of q, from column 4 CHUNK_DIM4 chunk on.
void fetchQ(const Rows q, const uint row_begin, const uint chunk, const uint thread) {
    if (isComplete(q, row_begin, TILE_ROWS, chunk * CHUNK_DIM4, CHUNK_DIM4, HEAD_DIM)) {
        uvec2 piece = pieceAddress(q, TYPE_Q, row_begin, chunk * CHUNK_DIM4);
        UNROLL for (uint i = 0; i < Q_FETCHES; i++) {
            uint index = min(i * WORKGROUP_SIZE + thread, TILE_ROWS * CHUNK_DIM4 - 1);
            fetched[i] = fetchWord(piece, q.row_stride, TYPE_Q, index / CHUNK_DIM4, index % CHUNK_DIM4);
        }
    }
}

void stageQ(const Rows q, const uint row_begin, const uint chunk, const uint thread) {
    if (isComplete(q, row_begin, TILE_ROWS, chunk * CHUNK_DIM4, CHUNK_DIM4, HEAD_DIM)) {
        UNROLL for (uint i = 0; i < Q_FETCHES; i++) {
            uint index = i * WORKGROUP_SIZE + thread;
            if (index < TILE_ROWS * CHUNK_DIM4) {
                q_stage[index / CHUNK_DIM4 * STAGED_WORDS + index % CHUNK_DIM4] = fetched[i];
            }
        }
    } else {
        KEEP_LOOP for (uint index = thread; index < TILE_ROWS * CHUNK_DIM4; index += WORKGROUP_SIZE) {
            uint row = index / CHUNK_DIM4;
            uint word = index % CHUNK_DIM4;
            q_stage[row * STAGED_WORDS + word] =
                loadWord(q, TYPE_Q, HEAD_DIM, row_begin + row, chunk * CHUNK_DIM4 + word);
        }
    }
}

void clearScores() {
    UNROLL for (uint i = 0; i < THREAD_ROWS * THREAD_KEYS; i++) {
        s_tile[i] = 0.0;
    }
}

// s += q k^T over the staged columns.
void accumulateScores(const uint group, const uint lane) {
    for (uint column4 = 0; column4 < CHUNK_DIM4; column4++) {
        vec4 k[THREAD_KEYS];
        UNROLL for (uint key = 0; key < THREAD_KEYS; key++) {
            k[key] = kv_stage[(lane + key * LANES) * STAGED_WORDS + column4];
        }
        UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
            vec4 q = q_stage[tileRow(group, row) * STAGED_WORDS + column4];
            UNROLL for (uint key = 0; key < THREAD_KEYS; key++) {
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
