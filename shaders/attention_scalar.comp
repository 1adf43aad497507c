// SPDX-License-Identifier: MIT
//
// Fused attention in plain fp32 arithmetic: any device, any type, and the fast path for fp32.
// FlashAttention-2's order (Dao 2023, algorithm 1): a workgroup owns TILE_ROWS query rows of one head
// and walks once over the keys, TILE_KEYS at a time, with (m, l, o) in registers; o and lse are
// written once, at the end. Nothing of size N x N exists.
//
// Shared memory holds only pieces, so that any head dimension fits 16 KiB:
//
//     q_stage   TILE_ROWS x (4 CHUNK_DIM4) of q     staged for every chunk of columns, or once if the
//                                                   head has one chunk
//     kv_stage  TILE_KEYS x (4 CHUNK_DIM4) of k     while scores are summed up over the chunks, then
//               CHUNK_KEYS x (4 VALUE_DIM4) of v    while o takes in the tile, chunk by chunk
//     p_tile    TILE_ROWS x TILE_KEYS of p
//
// How a tile is spread over the invocations is told in scores.glsl and output.glsl; tiles are chosen by
// src/tuning.cpp.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef VKF_SUBGROUPS
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif

#include "params.glsl"
#include "address.glsl"
#include "element.glsl"
#include "item.glsl"
#include "mask.glsl"
#include "stage.glsl"
#include "final_score.glsl"
#include "scores.glsl"
#include "output.glsl"
#include "softmax.glsl"

// s = q k^T for the keys from key_begin on.
void computeScores(Rows q, Rows k, Item item, TileMask mask, uint key_begin, uint thread) {
    clearScores();
    for (uint chunk = 0; chunk < DIM_CHUNKS; chunk++) {
        barrier(); // the last readers of the stages are done
        if (DIM_CHUNKS > 1) {
            stageQ(q, item, chunk, thread);
        }
        stageK(k, mask.any, key_begin, chunk, thread);
        barrier();
        accumulateScores(thread / LANES, thread % LANES);
    }
}

// o += p v for the same keys.
void computeOutput(Rows v, TileMask mask, uint key_begin, bool cut, uint thread) {
    for (uint chunk = 0; chunk < KEY_CHUNKS; chunk++) {
        barrier(); // as above; the first one also publishes p_tile
        stageV(v, mask.any, key_begin + chunk * CHUNK_KEYS, thread);
        barrier();
        if (cut) {
            accumulateOutput(thread / LANES, thread % LANES, chunk * CHUNK_KEYS, true);
        } else {
            accumulateOutput(thread / LANES, thread % LANES, chunk * CHUNK_KEYS, false);
        }
    }
}

void main() {
    uint thread = threadIndex();
    uint group = thread / LANES;
    uint lane = thread % LANES;

    Item item = itemOf(params.first_item + gl_WorkGroupID.x);
    Rows q = rowsOf(params.q, VKF_Q, TYPE_Q, item.batch, item.head);
    Rows k = rowsOf(params.k, VKF_K, TYPE_K, item.batch, item.kv_head);
    Rows v = rowsOf(params.v, VKF_V, TYPE_V, item.batch, item.kv_head);
    TileMask mask = tileMask(item);

    clearOutput();
    clearSoftmax();
    if (DIM_CHUNKS == 1) {
        stageQ(q, item, 0, thread);
    }
    uint first = uint(mask.any.x) / TILE_KEYS * TILE_KEYS;
    for (uint key_begin = first; int(key_begin) < mask.any.y; key_begin += TILE_KEYS) {
        bool cut = isCut(mask, key_begin, key_begin + TILE_KEYS);
        computeScores(q, k, item, mask, key_begin, thread);
        updateSoftmax(item, group, lane, key_begin, cut);
        computeOutput(v, mask, key_begin, cut, thread);
    }

    sumOverLanes(l_row, group, lane);
    float factor[THREAD_ROWS];
    [[unroll]] for (uint row = 0; row < THREAD_ROWS; row++) {
        factor[row] = l_row[row] == 0.0 ? 0.0 : 1.0 / l_row[row];
    }
    storeOutput(item, group, lane, factor);
    if (HAS_LSE && lane == 0) {
        [[unroll]] for (uint row = 0; row < THREAD_ROWS; row++) {
            uint i = item.row_begin + group * THREAD_ROWS + row;
            if (i < params.query_rows) {
                storeLse(item, i, m_row[row], l_row[row]);
            }
        }
    }
}
