// SPDX-License-Identifier: MIT
//
// The tile of the kernels in plain fp32 arithmetic that read v. v lies in the same shared memory as k.
#ifndef VKF_VALUE_TILE_GLSL
#define VKF_VALUE_TILE_GLSL

#include "scalar/scalar_tile.glsl"

layout(constant_id = VKF_ID_THREAD_COLUMNS) const uint THREAD_COLUMNS4 = 2;
layout(constant_id = VKF_ID_CHUNK_KEYS) const uint CHUNK_KEYS = 16;
const uint VALUE_DIM4 = LANES * THREAD_COLUMNS4; // columns of o in the tile, in fours, >= VALUE_DIM / 4
const uint KEY_CHUNKS = TILE_KEYS / CHUNK_KEYS;
const uint VALUE_WORDS = (VALUE_DIM + 3) / 4; // words of a row of v; columns of the tile past them are not staged
const uint V_FETCHES = (CHUNK_KEYS * VALUE_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
#define KV_FETCHES VKF_MAX_WORDS(K_FETCHES, V_FETCHES)
#define KV_STAGE_WORDS VKF_MAX_WORDS(VKF_K_WORDS(TILE_KEYS, CHUNK_DIM4), VKF_V_WORDS(CHUNK_KEYS, VALUE_DIM4))

#endif
