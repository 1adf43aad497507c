// SPDX-License-Identifier: MIT
//
// The tile of backward_scalar.comp: which invocation owns which part, and what a workgroup computes.
#ifndef VKF_PAIR_TILE_GLSL
#define VKF_PAIR_TILE_GLSL

layout(constant_id = VKF_ID_OWNER) const uint OWNER = VKF_OWNS_ROWS;
layout(constant_id = VKF_ID_WRITES_DK) const bool WRITES_DK = false;
layout(constant_id = VKF_ID_WRITES_DV) const bool WRITES_DV = false;
layout(constant_id = VKF_ID_THREAD_OWNED) const uint THREAD_OWNED = 4;
layout(constant_id = VKF_ID_THREAD_VISITED) const uint THREAD_VISITED = 4;
layout(constant_id = VKF_ID_CHUNK_DIM) const uint CHUNK_DIM4 = 4;
layout(constant_id = VKF_ID_CHUNK_VISITED) const uint CHUNK_VISITED = 16;
layout(constant_id = VKF_ID_TYPE_DOUT) const uint TYPE_DOUT = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_DQ) const uint TYPE_DQ = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_DK) const uint TYPE_DK = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_DV) const uint TYPE_DV = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_DBIAS) const uint TYPE_DBIAS = VKF_STORED_F32;

const bool OWNS_KEYS = OWNER == VKF_OWNS_KEYS;
const bool OWNS_BIAS = OWNER == VKF_OWNS_BIAS;

// What the kernel computes besides the scores: dp, and sums over what it visits.
const bool NEEDS_DP = !OWNS_KEYS || WRITES_DK;
const bool SUMS_DQK = OWNS_KEYS ? WRITES_DK : !OWNS_BIAS; // dk or dq, of HEAD_DIM columns
const bool SUMS_DV = OWNS_KEYS && WRITES_DV;              // dv, of VALUE_DIM columns

const uint GROUPS = WORKGROUP_SIZE / LANES; // groups of lanes; each group has its own rows or keys
const uint OWNED = GROUPS * THREAD_OWNED;
const uint VISITED = LANES * THREAD_VISITED;
const uint TILE_ROWS = OWNS_KEYS ? VISITED : OWNED;
const uint TILE_KEYS = OWNS_KEYS ? OWNED : VISITED;
const uint THREAD_ROWS = OWNS_KEYS ? THREAD_VISITED : THREAD_OWNED;
const uint THREAD_KEYS = OWNS_KEYS ? THREAD_OWNED : THREAD_VISITED;
const uint THREAD_PAIRS = THREAD_OWNED * THREAD_VISITED;

const uint QK_CHUNKS = (HEAD_DIM + CHUNK_DIM4 * 4 - 1) / (CHUNK_DIM4 * 4);
const uint DOV_CHUNKS = (VALUE_DIM + CHUNK_DIM4 * 4 - 1) / (CHUNK_DIM4 * 4);
const uint SUM_CHUNKS = VISITED / CHUNK_VISITED;

// Columns of a sum that an invocation owns, in fours: word lane, lane + LANES, ...
const uint DQK_COLUMNS4 = SUMS_DQK ? (HEAD_DIM + 4 * LANES - 1) / (4 * LANES) : 0;
const uint DV_COLUMNS4 = SUMS_DV ? (VALUE_DIM + 4 * LANES - 1) / (4 * LANES) : 0;
const uint BIAS_SUM_WORDS = (THREAD_VISITED + 3) / 4; // words of the sums of an owner of the bias, for each owned row
const uint SUM_WORDS = OWNS_BIAS ? BIAS_SUM_WORDS : DV_COLUMNS4 + DQK_COLUMNS4; // of all sums
const uint MAX_COLUMNS4 = OWNS_BIAS ? 1 : VKF_MAX_WORDS(DQK_COLUMNS4, DV_COLUMNS4);

uint thread, group, lane;

// The row or key of the tile for number `owned` of an invocation. The groups of one subgroup have neighbours, which lie
// in different banks of shared memory.
uint ownedIndex(const uint owned) {
    return owned * GROUPS + group;
}

uint visitedIndex(const uint visited) {
    return visited * LANES + lane;
}

#endif
