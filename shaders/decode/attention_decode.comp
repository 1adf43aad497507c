// SPDX-License-Identifier: MIT
//
// Fused attention of few query rows against many keys, in plain fp32 arithmetic. Bound by reading K and V
// once: a workgroup takes all packed rows of a KV head (item.glsl) and a part of the keys, words go
// straight from memory to registers, and groups of lanes walk over keys of their own (decode_tile.glsl), each
// with its own state of the online softmax, so that nobody waits for anybody until the end:
//
//     s = q k^T    partial sums over the words of k in a lane, then over the lanes of the group
//     m, l         of each row; the same in all lanes of a group
//     o += p v     the columns of o that belong to the words of v in a lane
//
// The k of the next keys is in flight while o takes in the present ones, their v while the next scores are
// computed.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef VKF_SUBGROUPS
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif

#include "common/compilers.glsl"
#include "common/params.glsl"
#include "decode/decode_tile.glsl"
#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/keep.glsl"
#include "scores/final_score.glsl"
#include "scores/score_terms.glsl"
#include "scores/sink.glsl"
#include "scores/dropout.glsl"
#include "masks/dropped.glsl"
#include "decode/decode_item.glsl"
#include "decode/decode_load.glsl"
#include "cache/paging.glsl"

#include "decode/decode_state.glsl"
#include "decode/decode_join.glsl"
#include "decode/decode_reduce.glsl"
#include "decode/decode_begin.glsl"
#include "decode/decode_fetch.glsl"

// s = q k^T over the words of this lane.
void computeProducts() {
    UNROLL for (uint i = 0; i < THREAD_ROWS * THREAD_KEYS; i++) {
        s_tile[i] = 0.0;
    }
    UNROLL for (uint i = 0; i < K_LANE_WORDS; i++) {
        UNROLL for (uint quad = 0; quad < K_QUADS; quad++) {
            vec4 k[THREAD_KEYS];
            UNROLL for (uint t = 0; t < THREAD_KEYS; t++) {
                k[t] = wordQuad(fetched_k[t * K_LANE_WORDS + i], quad, TYPE_K);
            }
            UNROLL for (uint r = 0; r < THREAD_ROWS; r++) {
                vec4 q = q_stage[stagedQuery(r, quad, i * LANES + lane)];
                UNROLL for (uint column = 0; column < 4; column++) {
                    UNROLL for (uint t = 0; t < THREAD_KEYS; t++) {
                        s_tile[r * THREAD_KEYS + t] = fma(q[column], k[t][column], s_tile[r * THREAD_KEYS + t]);
                    }
                }
            }
        }
    }
}

#include "decode/decode_softmax.glsl"

// o += p v
void accumulateOutput(const uint key_begin, const bool partial) {
    UNROLL for (uint t = 0; t < THREAD_KEYS; t++) {
        bool exists = threadKey(key_begin, t) < keys.y;
        UNROLL for (uint i = 0; i < V_LANE_WORDS; i++) {
            // Not even a probability of zero may meet what is no finite number.
            uvec4 word = exists ? fetched_v[t * V_LANE_WORDS + i] : uvec4(0);
            UNROLL for (uint quad = 0; quad < V_QUADS; quad++) {
                vec4 v = wordQuad(word, quad, TYPE_V);
                UNROLL for (uint r = 0; r < THREAD_ROWS; r++) {
                    uint place = r * LANE_COLUMNS4 + i * V_QUADS + quad;
                    float p = s_tile[r * THREAD_KEYS + t];
                    if (!partial || p != DROPPED) {
                        o_tile[place] = fma(vec4(p), v, o_tile[place]);
                    }
                }
            }
        }
    }
}

// A branch around fetches although there are more keys in nearly all cases: it keeps the loads there. Without it,
// they were seen to sink to where they are used, and their latency with them.
void attend() {
    ivec2 seen_by_all = commonKeys(item);
    KEEP_LOOP for (uint key_begin = keys.x; key_begin < keys.y; key_begin += TILE_KEYS) {
        uint next_key = key_begin + TILE_KEYS;
        bool partial = HAS_KEEP || HAS_WINDOW && (int(key_begin) < seen_by_all.x || int(min(next_key, keys.y)) > seen_by_all.y);
        computeProducts();
        IF_KEEPING_LOADS_HERE(next_key < keys.y) {
            fetchKeys(next_key);
        } else {
            forgetKeys();
        }
        sumOverLanes();
        if (partial) {
            updateSoftmax(key_begin, true);
            accumulateOutput(key_begin, true);
        } else {
            updateSoftmax(key_begin, false);
            accumulateOutput(key_begin, false);
        }
        IF_KEEPING_LOADS_HERE(next_key < keys.y) {
            fetchValues(next_key);
            fetchPages(next_key + TILE_KEYS);
        } else {
            forgetValues();
        }
    }
}

void main() {
    thread = threadIndex();
    group = thread / LANES;
    lane = thread % LANES;
    item = itemOf(params.first_item + gl_WorkGroupID.x);
    if (isIdle(item)) {
        return;
    }
    k_head = keyHeadAddress(params.k, VKF_K, item);
    v_head = keyHeadAddress(params.v, VKF_V, item);
    unseen = unseenKeys(item);
    keys = splitKeys(item, TILE_KEYS);
    clearState();
    if (keys.x < keys.y) {
        fetchPages(keys.x);
        fetchKeys(keys.x);
        fetchValues(keys.x);
        fetchPages(keys.x + TILE_KEYS);
        stageQueries();
        barrier();
        attend();
    }
    writeResults();
}
