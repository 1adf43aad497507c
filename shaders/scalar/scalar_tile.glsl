// SPDX-License-Identifier: MIT
//
// The tile of the kernels in plain fp32 arithmetic: which invocation owns which rows, keys and columns.
//
// A kernel without v defines VKF_STAGES_NO_V.
#ifndef VKF_SCALAR_TILE_GLSL
#define VKF_SCALAR_TILE_GLSL

layout(constant_id = VKF_ID_THREAD_ROWS) const uint THREAD_ROWS = 4;
layout(constant_id = VKF_ID_THREAD_KEYS) const uint THREAD_KEYS = 4;
#ifndef VKF_STAGES_NO_V
layout(constant_id = VKF_ID_THREAD_COLUMNS) const uint THREAD_COLUMNS4 = 2;
#endif
layout(constant_id = VKF_ID_CHUNK_DIM) const uint CHUNK_DIM4 = 4;
#ifndef VKF_STAGES_NO_V
layout(constant_id = VKF_ID_CHUNK_KEYS) const uint CHUNK_KEYS = 16;
#endif

const uint THREAD_GROUPS = WORKGROUP_SIZE / LANES; // groups of lanes; each group has its own rows
const uint TILE_ROWS = THREAD_GROUPS * THREAD_ROWS;
const uint TILE_KEYS = LANES * THREAD_KEYS;
#ifndef VKF_STAGES_NO_V
const uint VALUE_DIM4 = LANES * THREAD_COLUMNS4; // columns of o in the tile, in fours, >= VALUE_DIM / 4
#endif
const uint DIM_CHUNKS = (HEAD_DIM + CHUNK_DIM4 * 4 - 1) / (CHUNK_DIM4 * 4);
#ifndef VKF_STAGES_NO_V
const uint KEY_CHUNKS = TILE_KEYS / CHUNK_KEYS;
#endif

// The row of the tile for row `row` of a group. The groups of one subgroup have neighbouring rows, which lie in
// different banks of shared memory.
uint tileRow(const uint group, const uint row) {
    return row * THREAD_GROUPS + group;
}

#endif
