// SPDX-License-Identifier: MIT
//
// The tile of the kernels in plain fp32 arithmetic: which invocation owns which rows, keys and columns.
//
// A kernel without v defines VKF_STAGES_NO_V.
#ifndef VKF_SCALAR_TILE_GLSL
#define VKF_SCALAR_TILE_GLSL

layout(constant_id = VKF_ID_THREAD_ROWS) const uint THREAD_ROWS = 4;
layout(constant_id = VKF_ID_THREAD_KEYS) const uint THREAD_KEYS = 4;
layout(constant_id = VKF_ID_CHUNK_DIM) const uint CHUNK_DIM4 = 4;

const uint THREAD_GROUPS = WORKGROUP_SIZE / LANES; // groups of lanes; each group has its own rows
const uint TILE_ROWS = THREAD_GROUPS * THREAD_ROWS;
const uint TILE_KEYS = LANES * THREAD_KEYS;
const uint DIM_CHUNKS = (HEAD_DIM + CHUNK_DIM4 * 4 - 1) / (CHUNK_DIM4 * 4);

// v, in the same shared memory as k.
#ifdef VKF_STAGES_NO_V
#define KV_FETCHES K_FETCHES
#define KV_STAGE_WORDS VKF_K_WORDS(TILE_KEYS, CHUNK_DIM4)
#else
layout(constant_id = VKF_ID_THREAD_COLUMNS) const uint THREAD_COLUMNS4 = 2;
layout(constant_id = VKF_ID_CHUNK_KEYS) const uint CHUNK_KEYS = 16;
const uint VALUE_DIM4 = LANES * THREAD_COLUMNS4; // columns of o in the tile, in fours, >= VALUE_DIM / 4
const uint KEY_CHUNKS = TILE_KEYS / CHUNK_KEYS;
const uint VALUE_WORDS = (VALUE_DIM + 3) / 4; // words of a row of v; columns of the tile past them are not staged
const uint V_FETCHES = (CHUNK_KEYS * VALUE_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
#define KV_FETCHES VKF_MAX_WORDS(K_FETCHES, V_FETCHES)
#define KV_STAGE_WORDS VKF_MAX_WORDS(VKF_K_WORDS(TILE_KEYS, CHUNK_DIM4), VKF_V_WORDS(CHUNK_KEYS, VALUE_DIM4))
#endif

// The row of the tile for row `row` of a group. The groups of one subgroup have neighbouring rows, which lie in
// different banks of shared memory.
uint tileRow(const uint group, const uint row) {
    return row * THREAD_GROUPS + group;
}

#endif
