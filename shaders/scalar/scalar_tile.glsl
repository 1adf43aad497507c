// SPDX-License-Identifier: MIT
//
// The tile of the kernels in plain fp32 arithmetic: which invocation owns which rows, keys and columns.
// scalar/stage_values.glsl adds v to it.
#ifndef VKF_SCALAR_TILE_GLSL
#define VKF_SCALAR_TILE_GLSL

layout(constant_id = VKF_ID_THREAD_ROWS) const uint THREAD_ROWS = 4;
layout(constant_id = VKF_ID_THREAD_KEYS) const uint THREAD_KEYS = 4;
layout(constant_id = VKF_ID_CHUNK_DIM) const uint CHUNK_DIM4 = 4;

const uint THREAD_GROUPS = WORKGROUP_SIZE / LANES; // groups of lanes; each group has its own rows
const uint TILE_ROWS = THREAD_GROUPS * THREAD_ROWS;
const uint TILE_KEYS = LANES * THREAD_KEYS;
const uint DIM_CHUNKS = (HEAD_DIM + CHUNK_DIM4 * 4 - 1) / (CHUNK_DIM4 * 4);

// The row of the tile for row `row` of a group. The groups of one subgroup have neighbouring rows, which lie in
// different banks of shared memory.
uint tileRow(const uint group, const uint row) {
    return row * THREAD_GROUPS + group;
}

#endif
