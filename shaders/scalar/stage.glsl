// SPDX-License-Identifier: MIT
//
// Moves q, k and v from device memory to shared memory. Shared memory holds fp32, whatever the storage type.
//
// A piece moves in two steps. A fetch loads it into registers, with all loads in flight at once. A placement writes the
// registers to shared memory. A kernel fetches the next piece, multiplies the present one, and places the next piece
// when all readers are done.
//
// Only a complete piece is fetched: all its words exist, and its rows can be loaded four elements at a time. Any other
// piece is loaded when it is placed. Rows and columns that do not exist become zeros. Their bytes are never read.
//
// Needs: scalar/scalar_tile.glsl, common/address.glsl, common/element.glsl, common/item.glsl; VKF_STAGED_KEY if the
// kernel stages keys in another order.
// Provides: kv_stage, fetched, Q_FETCHES, K_FETCHES, V_FETCHES, VALUE_WORDS, STAGED_WORDS; cache/tensor_rows.glsl;
// fetchK, placeK, fetchV, placeV of scalar/stage_keys.glsl.
#ifndef VKF_STAGE_GLSL
#define VKF_STAGE_GLSL

#include "cache/block_types.glsl"
#include "cache/paging.glsl"

const uint STAGED_WORDS = VKF_STAGED_ROW_WORDS(CHUNK_DIM4);
#ifndef VKF_STAGES_NO_V
const uint VALUE_WORDS = (VALUE_DIM + 3) / 4; // words of a row of v; columns of the tile past them are not staged
#endif

// Words of a piece that an invocation fetches.
const uint Q_FETCHES = (TILE_ROWS * CHUNK_DIM4 + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint K_FETCHES = (TILE_KEYS * CHUNK_DIM4 + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
#ifdef VKF_STAGES_NO_V
const uint KV_FETCHES = K_FETCHES;
shared vec4 kv_stage[VKF_K_WORDS(TILE_KEYS, CHUNK_DIM4)];
#else
const uint V_FETCHES = (CHUNK_KEYS * VALUE_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
#define KV_FETCHES VKF_MAX_WORDS(K_FETCHES, V_FETCHES)
shared vec4 kv_stage[VKF_MAX_WORDS(VKF_K_WORDS(TILE_KEYS, CHUNK_DIM4), VKF_V_WORDS(CHUNK_KEYS, VALUE_DIM4))];
#endif

// The row of the stage that holds key `key` of the tile.
#ifndef VKF_STAGED_KEY
#define VKF_STAGED_KEY(key) (key)
#endif

vec4 fetched[Q_FETCHES + KV_FETCHES]; // q, then k or v

#include "cache/tensor_rows.glsl"
#include "scalar/stage_keys.glsl"

#endif
