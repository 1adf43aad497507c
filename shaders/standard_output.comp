// SPDX-License-Identifier: MIT
//
// Unfused attention, last of three passes: o = P v, with P read from memory. P stands in the place of
// q: q's address and strides are those of P.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "params.glsl"
#include "address.glsl"
#include "element.glsl"
#include "item.glsl"
#include "mask.glsl"
#include "stage.glsl"
#include "output.glsl"

// TILE_KEYS columns of TILE_ROWS rows of P into p_tile; DROPPED where there is none.
void stageP(Rows p, Item item, uint key_begin, uint thread) {
    [[unroll]] for (uint i = 0; i < TILE_ROWS * TILE_KEYS / 4; i += WORKGROUP_SIZE) {
        uint word = i + thread;
        uint row = word / (TILE_KEYS / 4);
        uint key4 = word % (TILE_KEYS / 4);
        if (word < TILE_ROWS * TILE_KEYS / 4) {
            vec4 x = vec4(DROPPED);
            if (item.row_begin + row < params.query_rows) {
                uvec2 address = rowAddress(p.address, VKF_Q, item.row_begin + row);
                uint key = key_begin + key4 * 4;
                vec4 loaded = loadRow4(address, key, params.keys, VKF_STORED_F32, p.aligned4);
                x = mix(x, loaded, lessThan(uvec4(key) + uvec4(0, 1, 2, 3), uvec4(params.keys)));
            }
            p_tile[row * SCORE_WORDS + key4] = x;
        }
    }
}

void main() {
    uint thread = threadIndex();
    uint group = thread / LANES;
    uint lane = thread % LANES;
    Item item = itemOf(params.first_item + gl_WorkGroupID.x);
    Rows p = rowsOf(params.q, VKF_Q, VKF_STORED_F32, item.batch, item.head);
    Rows v = rowsOf(params.v, VKF_V, TYPE_V, item.batch, item.kv_head);
    TileMask mask = tileMask(item);

    clearOutput();
    uint first = uint(mask.any.x) / TILE_KEYS * TILE_KEYS;
    for (uint key_begin = first; int(key_begin) < mask.any.y; key_begin += TILE_KEYS) {
        bool cut = isCut(mask, key_begin, key_begin + TILE_KEYS);
        barrier(); // the last readers of p_tile are done
        stageP(p, item, key_begin, thread);
        for (uint chunk = 0; chunk < KEY_CHUNKS; chunk++) {
            barrier(); // and of kv_stage; the first one also publishes p_tile
            stageV(v, mask.any, key_begin + chunk * CHUNK_KEYS, thread);
            barrier();
            accumulateOutput(group, lane, chunk * CHUNK_KEYS, cut);
        }
    }

    float factor[THREAD_ROWS];
    [[unroll]] for (uint row = 0; row < THREAD_ROWS; row++) {
        factor[row] = 1.0;
    }
    storeOutput(item, group, lane, factor);
}
