// SPDX-License-Identifier: MIT
//
// Unfused attention, first of three passes: makes S, the scores q k^T with scale and softcap, in fp32. One workgroup
// makes one tile. The tile may hold scores of keys that a row does not see. The second pass does not read these scores.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "common/compilers.glsl"
#include "shared/attention_params.h"
#define VKF_PUSH_CONSTANTS StandardScoresParams
#define VKF_LANES_ID VKF_ID_ROW_LANES
#include "common/params.glsl"
#include "scalar/scalar_tile.glsl"
#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "scalar/stage_values.glsl"
#include "scores/final_score.glsl"
#include "scalar/scores.glsl"

void storeScores(const Item item, const uint key_begin, const uint group, const uint lane) {
    uvec2 head = headAddress(params.s, VKF_S, item.batch, item.head);
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        uint i = item.row_begin + tileRow(group, row);
        if (i < params.query_rows) {
            uvec2 address = rowAddress(head, VKF_S, i);
            UNROLL for (uint key = 0; key < THREAD_KEYS; key++) {
                uint j = key_begin + lane + key * LANES;
                if (j < params.keys) {
                    float s = finalScore(s_tile[row * THREAD_KEYS + key]);
                    Word(add64(address, uvec2(j * 4, 0))).value = floatBitsToUint(s);
                }
            }
        }
    }
}

void main() {
    uint thread = threadIndex();
    uint key_tiles = VKF_TILES(params.keys, TILE_KEYS);
    uint number = params.first_item + gl_WorkGroupID.x;
    uint key_begin = number % key_tiles * TILE_KEYS;
    Item item = itemOf(number / key_tiles);
    TileMask mask = tileMask(item);
    if (int(key_begin) >= mask.any.y || int(key_begin + TILE_KEYS) <= mask.any.x) {
        return; // no row of the tile sees these keys
    }

    Rows q = rowsOf(params.q, VKF_Q, TYPE_Q, HEAD_DIM, item, params.query_rows);
    Rows k = rowsOf(params.k, VKF_K, TYPE_K, HEAD_DIM, item, item.keys);
    clearScores();
    fetchQ(q, item.row_begin, 0, thread);
    fetchK(k, key_begin, 0, thread);
    KEEP_LOOP for (uint chunk = 0; chunk < DIM_CHUNKS; chunk++) {
        barrier(); // the last readers of the stages are done
        stageQ(q, item.row_begin, chunk, thread);
        stageK(k, key_begin, chunk, thread);
        barrier();
        if (chunk + 1 < DIM_CHUNKS) {
            fetchQ(q, item.row_begin, chunk + 1, thread);
            fetchK(k, key_begin, chunk + 1, thread);
        }
        accumulateScores(thread / LANES, thread % LANES);
    }
    storeScores(item, key_begin, thread / LANES, thread % LANES);
}
