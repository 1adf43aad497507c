// SPDX-License-Identifier: MIT
//
// Adds v to the tile of the kernels in plain fp32 arithmetic (scalar/scalar_tile.glsl), and moves it from device memory
// to shared memory in the two steps of scalar/stage.glsl. v lies in the same shared memory as k.
#ifndef VKF_STAGE_VALUES_GLSL
#define VKF_STAGE_VALUES_GLSL

layout(constant_id = VKF_ID_THREAD_COLUMNS) const uint THREAD_COLUMNS4 = 2;
layout(constant_id = VKF_ID_CHUNK_KEYS) const uint CHUNK_KEYS = 16;
const uint VALUE_DIM4 = LANES * THREAD_COLUMNS4; // columns of o in the tile, in fours, >= VALUE_DIM / 4
const uint KEY_CHUNKS = TILE_KEYS / CHUNK_KEYS;
const uint VALUE_WORDS = (VALUE_DIM + 3) / 4; // words of a row of v; columns of the tile past them are not staged
const uint V_FETCHES = (CHUNK_KEYS * VALUE_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
#define KV_FETCHES VKF_MAX_WORDS(K_FETCHES, V_FETCHES)
#define KV_STAGE_WORDS VKF_MAX_WORDS(VKF_K_WORDS(TILE_KEYS, CHUNK_DIM4), VKF_V_WORDS(CHUNK_KEYS, VALUE_DIM4))

#include "scalar/stage.glsl"

// Fetches all columns of CHUNK_KEYS rows of v.
void fetchV(const Rows v, const uint key_begin, const uint thread) {
    if (isComplete(v, key_begin, CHUNK_KEYS, 0, VALUE_WORDS, VALUE_DIM)) {
        uvec2 piece = pieceAddress(v, TYPE_V, key_begin, 0);
        UNROLL for (uint i = 0; i < V_FETCHES; i++) {
            uint index = min(i * WORKGROUP_SIZE + thread, CHUNK_KEYS * VALUE_WORDS - 1);
            fetched[Q_FETCHES + i] =
                fetchKeyWord(v, piece, TYPE_V, key_begin, 0, index / VALUE_WORDS, index % VALUE_WORDS);
        }
    }
}

void stageV(const Rows v, const uint key_begin, const uint thread) {
    if (isComplete(v, key_begin, CHUNK_KEYS, 0, VALUE_WORDS, VALUE_DIM)) {
        UNROLL for (uint i = 0; i < V_FETCHES; i++) {
            uint index = i * WORKGROUP_SIZE + thread;
            if (index < CHUNK_KEYS * VALUE_WORDS) {
                kv_stage[index / VALUE_WORDS * VALUE_DIM4 + index % VALUE_WORDS] = fetched[Q_FETCHES + i];
            }
        }
    } else {
        KEEP_LOOP for (uint index = thread; index < CHUNK_KEYS * VALUE_WORDS; index += WORKGROUP_SIZE) {
            uint row = index / VALUE_WORDS;
            uint word = index % VALUE_WORDS;
            kv_stage[row * VALUE_DIM4 + word] = loadWord(v, TYPE_V, VALUE_DIM, key_begin + row, word);
        }
    }
}

#endif
