// SPDX-License-Identifier: MIT
//
// Fused attention of few query rows against many keys, in plain fp32 arithmetic. It is the split form of
// FlashAttention-2 ("Flash-Decoding"): merge/merge_splits.comp merges the key splits. Numbers in comments are lines of
// algorithm 1 (Dao 2023, arXiv 2307.08691):
//
//      3       for the packed rows i of a KV head, and a key split              a workgroup: itemOf, splitKeys
//      4         load q_i                                                       stageQueries
//      5         o_i = 0, l_i = 0, m_i = -infinity                              clearState
//      6         for each tile j of the split's keys                            attend
//      7           load k_j, v_j                                                fetchKeys, fetchValues
//      8           s = q_i k_j^T                                                computeProducts, sumOverLanes
//      9           m_i = max(m_i, rowmax s), p = exp(s - m_i),
//                  l_i = exp(m_old - m_i) l_i + rowsum p                        updateSoftmax
//     10           o_i = exp(m_old - m_i) o_i + p v_j                           updateSoftmax, accumulateOutput
//     12..15     o_i = o_i / l_i, lse_i = m_i + log l_i, store both             writeResults
//
// The kernel is bound by reading k and v once. Words go straight from memory to registers. Each group of lanes walks
// over keys of its own (decode/tile.glsl), with its own (m, l, o). So no group waits for another until the end:
//
//     s      partial sums over the words of k in a lane, then over the lanes of the group
//     m, l   of each row; all lanes of a group have the same values
//     o      the columns that belong to the words of v in a lane
//
// Where the kernel deviates:
//     7    The k of the next tile is in flight while line 10 uses this tile. Its v is in flight while line 8 makes
//          the next scores.
//     9    Exponentials are powers of two. Scores are in units of log2 where there is neither bias nor score
//          function (scores/units.glsl).
//    12    writeResults first joins the states of the groups, by the formula of a merge (merge/merge_rows.glsl).
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef VKF_SUBGROUPS
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif

#define VKF_BIAS_IN_EXTRA_SLOT

#include "common/compilers.glsl"
#define VKF_LANES_ID VKF_ID_KEY_LANES
#include "common/params.glsl"
#include "decode/tile.glsl"
#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/per_key_masks.glsl"
#include "scores/units.glsl"
#include "scores/final_score.glsl"
#include "scores/score_terms.glsl"
#include "softmax/store_lse.glsl"
#include "scores/dropout.glsl"
#include "masks/key_split.glsl"
#include "cache/row_loads.glsl"
#include "cache/paging.glsl"

#include "decode/globals.glsl"
#include "decode/join.glsl"
#include "decode/load.glsl"

// Line 8: s = q k^T over the words of this lane.
void computeProducts() {
    UNROLL for (uint i = 0; i < LANE_GROUP_ROWS * LANE_GROUP_KEYS; i++) {
        s_tile[i] = 0.0;
    }
    UNROLL for (uint i = 0; i < K_LANE_WORDS; i++) {
        UNROLL for (uint quad = 0; quad < K_QUADS; quad++) {
            vec4 k[LANE_GROUP_KEYS];
            UNROLL for (uint t = 0; t < LANE_GROUP_KEYS; t++) {
                k[t] = wordQuad(fetched_k[t * K_LANE_WORDS + i], quad, TYPE_K);
            }
            UNROLL for (uint r = 0; r < LANE_GROUP_ROWS; r++) {
                vec4 q = q_stage[stagedQuery(r, quad, i * LANES + lane)];
                UNROLL for (uint column = 0; column < 4; column++) {
                    UNROLL for (uint t = 0; t < LANE_GROUP_KEYS; t++) {
                        s_tile[r * LANE_GROUP_KEYS + t] = fma(q[column], k[t][column], s_tile[r * LANE_GROUP_KEYS + t]);
                    }
                }
            }
        }
    }
}

#include "decode/softmax.glsl"

// Line 10: o += p v. `partial`: some p may be DROPPED.
void accumulateOutput(const uint key_begin, const bool partial) {
    UNROLL for (uint t = 0; t < LANE_GROUP_KEYS; t++) {
        bool exists = isTileKey(key_begin, t);
        UNROLL for (uint i = 0; i < V_LANE_WORDS; i++) {
            // A key that does not exist has p = 0, and its v is zeros too: 0 times infinity or NaN would be NaN.
            uvec4 word = exists ? fetched_v[t * V_LANE_WORDS + i] : uvec4(0);
            UNROLL for (uint quad = 0; quad < V_QUADS; quad++) {
                vec4 v = wordQuad(word, quad, TYPE_V);
                UNROLL for (uint r = 0; r < LANE_GROUP_ROWS; r++) {
                    uint index = r * LANE_COLUMNS4 + i * V_QUADS + quad;
                    float p = s_tile[r * LANE_GROUP_KEYS + t];
                    if (!partial || p != DROPPED) {
                        o_tile[index] = fma(vec4(p), v, o_tile[index]);
                    }
                }
            }
        }
    }
}

// Lines 6 to 11.
void attend() {
    ivec2 common_keys = commonKeys(item);
    KEEP_LOOP for (uint key_begin = keys.x; key_begin < keys.y; key_begin += TILE_KEYS) { // 6
        uint next_key = key_begin + TILE_KEYS;
        bool partial = MASKS_ANY_KEY || (HAS_WINDOW || MASKS_LAST_KEYS) && (int(key_begin) < common_keys.x ||
                                                                            int(min(next_key, keys.y)) > common_keys.y);
        computeProducts(); // 8
        IF_KEEPING_LOADS_HERE (next_key < keys.y) {
            fetchKeys(next_key); // 7: starts to load k_(j+1)
        } else {
            forgetKeys();
        }
        sumOverLanes(); // 8
        if (partial) {
            updateSoftmax(key_begin, true);    // 9, and o_i of 10 times exp(m_old - m_i)
            accumulateOutput(key_begin, true); // 10
        } else {
            updateSoftmax(key_begin, false);
            accumulateOutput(key_begin, false);
        }
        IF_KEEPING_LOADS_HERE (next_key < keys.y) {
            fetchValues(next_key); // 7: starts to load v_(j+1)
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
    item = itemOf(params.first_item + gl_WorkGroupID.x); // 3
    if (isIdle(item)) {
        return;
    }
    k_head = keyHeadAddress(params.k, VKF_K, item);
    v_head = keyHeadAddress(params.v, VKF_V, item);
    empty_keys = unseenKeys(item);
    beginList(item);
    keys = splitKeys(item, TILE_KEYS);
    loadScales(item.kv_head);
    clearState(); // 5
    if (keys.x < keys.y) {
        fetchPages(keys.x);
        fetchKeys(keys.x); // 7, of the first tile
        fetchValues(keys.x);
        fetchPages(keys.x + TILE_KEYS);
        stageQueries(); // 4
        barrier();
        attend(); // 6 to 11
    }
    writeResults(); // 12 to 15
}
