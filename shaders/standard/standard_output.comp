// SPDX-License-Identifier: MIT
//
// Unfused attention, last of three passes: o = P v / l. This pass reads P and l from memory.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "common/compilers.glsl"
#include "shared/attention_params.h"
#define VKF_PUSH_CONSTANTS StandardOutputParams
#define VKF_LANES_ID VKF_ID_ROW_LANES
#include "common/params.glsl"
#include "scalar/scalar_tile.glsl"
#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "scalar/stage_values.glsl"
#include "scalar/output.glsl"

layout(constant_id = VKF_ID_TYPE_P) const uint TYPE_P = VKF_STORED_F32;
#include "standard/standard_p.glsl"

const uint P_FETCHES = (TILE_ROWS * CHUNK_KEYS / 4 + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;

// Loads CHUNK_KEYS columns of TILE_ROWS rows of P into p_stage, with DROPPED where P has no element. The rows of P end
// on a whole word, so every load has four elements.
void stageP(const uvec2 p, const Item item, const uint key_begin, const uint thread) {
    vec4 words[P_FETCHES];
    UNROLL for (uint i = 0; i < P_FETCHES; i++) {
        uint index = i * WORKGROUP_SIZE + thread;
        uint row = min(item.row_begin + index / (CHUNK_KEYS / 4), params.query_rows - 1);
        uint key = min(key_begin + index % (CHUNK_KEYS / 4) * 4, (params.keys - 1) / 4 * 4);
        words[i] = loadAligned4(add64(rowAddress(p, VKF_P, row), uvec2(key * 4, 0)), VKF_STORED_F32);
    }
    UNROLL for (uint i = 0; i < P_FETCHES; i++) {
        uint index = i * WORKGROUP_SIZE + thread;
        uint row = index / (CHUNK_KEYS / 4);
        uint key4 = index % (CHUNK_KEYS / 4);
        if (index < TILE_ROWS * CHUNK_KEYS / 4) {
            uvec4 keys = uvec4(key_begin + key4 * 4) + uvec4(0, 1, 2, 3);
            bvec4 exists = lessThan(keys, uvec4(item.row_begin + row < params.query_rows ? params.keys : 0));
            p_stage[row * P_ROW_WORDS + key4] = mix(vec4(DROPPED), words[i], exists);
        }
    }
}

void main() {
    uint thread = threadIndex();
    uint group = thread / LANES;
    uint lane = thread % LANES;
    Item item = itemOf(params.first_item + gl_WorkGroupID.x);
    uvec2 p = headAddress(params.p, VKF_P, item.batch, item.head);
    Rows v = rowsOf(params.v, VKF_V, TYPE_V, VALUE_DIM, item, item.keys);
    TileMask mask = tileMask(item);

    clearOutput();
    uint first = uint(mask.any.x) / CHUNK_KEYS * CHUNK_KEYS;
    for (uint key_begin = first; int(key_begin) < mask.any.y; key_begin += CHUNK_KEYS) {
        fetchV(v, key_begin, thread);
        barrier(); // the last readers of the stages are done
        stageP(p, item, key_begin, thread);
        stageV(v, key_begin, thread);
        barrier();
        if (OR_KEEP(isPartial(mask, key_begin, key_begin + CHUNK_KEYS))) {
            accumulateOutput(group, lane, true);
        } else {
            accumulateOutput(group, lane, false);
        }
    }

    float factor[THREAD_ROWS];
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        uint i = min(item.row_begin + tileRow(group, row), params.query_rows - 1);
        factor[row] = rowFactor(loadRowState(params.row_state, item, i).y);
    }
    storeOutput(item, group, lane, factor);
}
