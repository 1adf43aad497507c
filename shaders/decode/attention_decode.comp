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
// The kernel is bound by reading k and v once. Words go straight from memory to registers. A group is LANES
// neighbouring invocations, which take a key at a time. Each of them holds some words of 16 bytes of the key's k and v,
// and the columns of o that belong to these words. A word of a block type is a piece of a block. A group holds all
// LANE_GROUP_ROWS rows of the tile and LANE_GROUP_KEYS keys at once. The groups take keys in turn, each with its own
// (m, l, o). So no group waits for another until the end:
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

// The tile.
layout(constant_id = VKF_ID_LANE_GROUP_ROWS) const uint LANE_GROUP_ROWS = 4;
layout(constant_id = VKF_ID_LANE_GROUP_KEYS) const uint LANE_GROUP_KEYS = 4;
layout(constant_id = VKF_ID_WHOLE_WORDS) const bool WHOLE_WORDS = true;

const uint GROUPS = WORKGROUP_SIZE / LANES;
const uint TILE_ROWS = LANE_GROUP_ROWS;
const uint TILE_KEYS = GROUPS * LANE_GROUP_KEYS;

// Groups of four elements in a word, and words of a row in a lane.
const uint K_QUADS = VKF_WORD_QUADS(TYPE_K);
const uint V_QUADS = VKF_WORD_QUADS(TYPE_V);
const uint K_LANE_WORDS = VKF_LANE_WORDS(HEAD_DIM, TYPE_K, LANES);
const uint V_LANE_WORDS = VKF_LANE_WORDS(VALUE_DIM, TYPE_V, LANES);
const uint LANE_COLUMNS4 = V_LANE_WORDS * V_QUADS; // columns of o in a lane, in fours

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

// All mutable state of the kernel. decode/join.glsl has the shared memory of the kernel's end. cache/paging.glsl and
// the masks have state of their own.

// The position of the invocation, and what it works on. main sets these variables once.
Item item;
uint thread, group, lane;
uvec2 k_head, v_head;
uvec2 keys;       // key numbers [x, y) of this split (splitKeys)
ivec2 empty_keys; // keys between the first keys and the window, which have no number

// Words in flight from memory.
uint fetched_pages[LANE_GROUP_KEYS]; // entries of the block table for the keys to be fetched next
uint tile_absent;                    // bit t is set if key t of the present tile has no page
// Entries of the list of chosen keys: those to be fetched next, and those of the present tile.
uint fetched_entries[HAS_CHOSEN_KEYS ? LANE_GROUP_KEYS : 1];
uint tile_entries[HAS_CHOSEN_KEYS ? LANE_GROUP_KEYS : 1];
uvec4 fetched_k[LANE_GROUP_KEYS * K_LANE_WORDS];
uvec4 fetched_v[LANE_GROUP_KEYS * V_LANE_WORDS];
// The state of the algorithm.
float s_tile[LANE_GROUP_ROWS * LANE_GROUP_KEYS];
vec4 o_tile[LANE_GROUP_ROWS * LANE_COLUMNS4];
float m_row[LANE_GROUP_ROWS];
float l_row[LANE_GROUP_ROWS]; // running sum over the keys of the group
float slope_row[LANE_GROUP_ROWS];
RowDropout dropout_row[HAS_DROPOUT ? LANE_GROUP_ROWS : 1];

// q as fp32. Its columns lie where a lane finds the columns that belong to its words of k. Missing columns are zeros.
shared vec4 q_stage[VKF_DECODE_Q_WORDS(LANE_GROUP_ROWS, HEAD_DIM, TYPE_K, LANES)];

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

// Line 9, and the factor of line 10.

// Whether a row sees key t of the invocation. `partial`: not all rows see the same keys.
bool seesKey(const uint key_begin, const uint t, const ivec2 visible, const RowMasks masks, const bool partial) {
    uint key = tileKey(key_begin, t);
    bool listed = !HAS_CHOSEN_KEYS || tile_entries[t] == key;
    bool exists = isTileKey(key_begin, t);
    return partial ? exists && listed && isVisible(visible, key) && isUnmasked(masks, key) : exists;
}

// Turns scores into probabilities, in place, updates m and l, and scales o to the new m. In a partial tile,
// probabilities of keys that a row does not see are DROPPED. In a full tile only keys that do not exist are invisible.
// Their probability is 0.
void updateSoftmax(const uint key_begin, const bool partial) {
    uint first_key = HAS_CHOSEN_KEYS ? 0 : tileKey(key_begin, 0);
    UNROLL for (uint r = 0; r < LANE_GROUP_ROWS; r++) {
        ivec2 visible = partial ? visibleKeys(item, queryRow(item.row_begin + r)) : ivec2(0);
        RowTerms terms =
            rowTerms(item, queryHead(item, item.row_begin + r), slope_row[r], queryRow(item.row_begin + r), first_key);
        RowMasks masks = rowMasks(item, queryHead(item, item.row_begin + r), queryRow(item.row_begin + r));
        float m_new = m_row[r];
        UNROLL for (uint t = 0; t < LANE_GROUP_KEYS; t++) {
            uint key = tileKey(key_begin, t);
            float s = withTerms(terms, key - first_key, finalScore(s_tile[r * LANE_GROUP_KEYS + t]));
            s = seesKey(key_begin, t, visible, masks, partial) ? s : MINUS_INFINITY;
            s_tile[r * LANE_GROUP_KEYS + t] = s;
            m_new = max(m_new, s);
        }
        // m is -infinity before the first visible key, and the difference of two infinities is NaN.
        float m = finiteMaximum(m_new);
        float alpha = rescaleFactor(m_row[r], m);
        float l = l_row[r] * alpha;
        UNROLL for (uint t = 0; t < LANE_GROUP_KEYS; t++) {
            float p = power(s_tile[r * LANE_GROUP_KEYS + t] - m);
            bool seen = seesKey(key_begin, t, visible, masks, partial);
            l += seen ? p : 0.0;
            if (HAS_DROPOUT && !staysIn(dropout_row[HAS_DROPOUT ? r : 0], tileKey(key_begin, t))) {
                p = 0.0;
            }
            s_tile[r * LANE_GROUP_KEYS + t] = seen ? p : (partial ? DROPPED : 0.0);
        }
        UNROLL for (uint c = 0; c < LANE_COLUMNS4; c++) {
            o_tile[r * LANE_COLUMNS4 + c] *= alpha;
        }
        m_row[r] = m_new;
        l_row[r] = l;
    }
}

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
