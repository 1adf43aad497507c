// SPDX-License-Identifier: MIT
//
// Moves q and k from device memory to shared memory; scalar/stage_values.glsl moves v. Shared memory holds fp32,
// whatever the storage type.
//
// A piece moves in two steps. A fetch loads it into registers, with all loads in flight at once. A second step writes
// the registers to shared memory. A kernel fetches the next piece, multiplies the current one, and stages the next
// piece when all readers are done.
//
// Only a complete piece is fetched: all its words exist, and its rows can be loaded four elements at a time. Any other
// piece is loaded when it is staged. Rows and columns that do not exist become zeros. Their bytes are never read.
//
// A kernel that stages keys in another order defines VKF_STAGED_KEY. One without scalar/stage_values.glsl defines
// KV_FETCHES and KV_STAGE_WORDS.
#ifndef VKF_STAGE_GLSL
#define VKF_STAGE_GLSL

#include "cache/block_types.glsl"
#include "cache/paging.glsl"

const uint STAGED_WORDS = VKF_STAGED_ROW_WORDS(CHUNK_DIM4);

// Words of a piece that an invocation fetches.
const uint Q_FETCHES = (TILE_ROWS * CHUNK_DIM4 + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint K_FETCHES = (TILE_KEYS * CHUNK_DIM4 + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
shared vec4 kv_stage[KV_STAGE_WORDS];

// The row of the stage that holds key `key` of the tile.
#ifndef VKF_STAGED_KEY
#define VKF_STAGED_KEY(key) (key)
#endif

vec4 fetched[Q_FETCHES + KV_FETCHES]; // q, then k or v

#include "cache/tensor_rows.glsl"
// Fetches 4 CHUNK_DIM4 columns of TILE_KEYS rows of k, from column 4 CHUNK_DIM4 chunk on.
void fetchK(const Rows k, const uint key_begin, const uint chunk, const uint thread) {
    if (isComplete(k, key_begin, TILE_KEYS, chunk * CHUNK_DIM4, CHUNK_DIM4, HEAD_DIM)) {
        uvec2 piece = pieceAddress(k, TYPE_K, key_begin, chunk * CHUNK_DIM4);
        UNROLL for (uint i = 0; i < K_FETCHES; i++) {
            uint index = min(i * WORKGROUP_SIZE + thread, TILE_KEYS * CHUNK_DIM4 - 1);
            fetched[Q_FETCHES + i] =
                fetchKeyWord(k, piece, TYPE_K, key_begin, chunk * CHUNK_DIM4, index / CHUNK_DIM4, index % CHUNK_DIM4);
        }
    }
}

void stageK(const Rows k, const uint key_begin, const uint chunk, const uint thread) {
    if (isComplete(k, key_begin, TILE_KEYS, chunk * CHUNK_DIM4, CHUNK_DIM4, HEAD_DIM)) {
        UNROLL for (uint i = 0; i < K_FETCHES; i++) {
            uint index = i * WORKGROUP_SIZE + thread;
            if (index < TILE_KEYS * CHUNK_DIM4) {
                kv_stage[VKF_STAGED_KEY(index / CHUNK_DIM4) * STAGED_WORDS + index % CHUNK_DIM4] =
                    fetched[Q_FETCHES + i];
            }
        }
    } else {
        KEEP_LOOP for (uint index = thread; index < TILE_KEYS * CHUNK_DIM4; index += WORKGROUP_SIZE) {
            uint row = index / CHUNK_DIM4;
            uint word = index % CHUNK_DIM4;
            kv_stage[VKF_STAGED_KEY(row) * STAGED_WORDS + word] =
                loadWord(k, TYPE_K, HEAD_DIM, key_begin + row, chunk * CHUNK_DIM4 + word);
        }
    }
}

#endif
