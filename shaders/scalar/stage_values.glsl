// SPDX-License-Identifier: MIT
//
// Moves v from device memory to shared memory, in the two steps of scalar/stage.glsl.
#ifndef VKF_STAGE_VALUES_GLSL
#define VKF_STAGE_VALUES_GLSL

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
