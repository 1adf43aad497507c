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

Item item;
uint thread, group, lane;
uvec2 k_head, v_head;
uvec2 keys;   // of this split, in numbers that leave out the keys between the first ones and the window
ivec2 unseen; // those keys

uint fetched_pages[THREAD_KEYS]; // of the keys to be fetched next
uvec4 fetched_k[THREAD_KEYS * K_LANE_WORDS];
uvec4 fetched_v[THREAD_KEYS * V_LANE_WORDS];
float s_tile[THREAD_ROWS * THREAD_KEYS];
vec4 o_tile[THREAD_ROWS * LANE_COLUMNS4];
float m_row[THREAD_ROWS];
float l_row[THREAD_ROWS]; // of all keys of the group
float slope_row[THREAD_ROWS];
RowDropout dropout_row[HAS_DROPOUT ? THREAD_ROWS : 1];

// q as fp32, its columns where a lane finds those that belong to its words of k, zeros where there are none.
shared vec4 q_stage[VKF_DECODE_Q_WORDS(THREAD_ROWS, HEAD_DIM, TYPE_K, LANES)];

#include "decode/decode_join.glsl"
#include "decode/decode_reduce.glsl"

uint stagedQuery(const uint r, const uint quad, const uint word) {
    return (r * K_QUADS + quad) * K_LANE_WORDS * LANES + word;
}

void stageQueries() {
    const uint row_words = K_LANE_WORDS * LANES * K_QUADS;
    KEEP_LOOP for (uint place = thread; place < THREAD_ROWS * row_words; place += WORKGROUP_SIZE) {
        uint r = place / row_words;
        uint column4 = place % row_words;
        uint packed_row = item.row_begin + r;
        vec4 q = vec4(0.0);
        if (packed_row < packedRows(item)) {
            uvec2 head = headAddress(params.q, VKF_Q, item.batch, queryHead(item, packed_row), item.first_row);
            uint column = quadColumn(column4 / K_QUADS, column4 % K_QUADS, TYPE_K);
            q = loadRow4(rowAddress(head, VKF_Q, queryRow(packed_row)), column, HEAD_DIM, TYPE_Q);
        }
        q_stage[stagedQuery(r, column4 % K_QUADS, column4 / K_QUADS)] = q;
    }
}

void clearState() {
    UNROLL for (uint i = 0; i < THREAD_ROWS * LANE_COLUMNS4; i++) {
        o_tile[i] = vec4(0.0);
    }
    UNROLL for (uint r = 0; r < THREAD_ROWS; r++) {
        m_row[r] = MINUS_INFINITY;
        l_row[r] = 0.0;
        slope_row[r] = slopeOf(queryHead(item, item.row_begin + r));
        if (HAS_DROPOUT) {
            dropout_row[HAS_DROPOUT ? r : 0] =
                rowDropout(item, queryHead(item, item.row_begin + r), queryRow(item.row_begin + r));
        }
    }
}

uint threadKey(const uint key_begin, const uint t) {
    return key_begin + t * GROUPS + group;
}

// Past the last key it is the last one again, so that nothing is read that must not be.
uint existingKey(const uint key_begin, const uint t) {
    return keyOfNumber(unseen, min(threadKey(key_begin, t), keys.y - 1));
}

// Long before the keys, whose addresses wait for them.
void fetchPages(const uint key_begin) {
    UNROLL for (uint t = 0; t < THREAD_KEYS; t++) {
        fetched_pages[t] = pageOf(item.batch, existingKey(key_begin, t));
    }
}

void fetchKeys(const uint key_begin) {
    UNROLL for (uint t = 0; t < THREAD_KEYS; t++) {
        uvec2 row = keyAddress(k_head, VKF_K, fetched_pages[t], existingKey(key_begin, t));
        UNROLL for (uint i = 0; i < K_LANE_WORDS; i++) {
            fetched_k[t * K_LANE_WORDS + i] = rowWord(row, i * LANES + lane, HEAD_DIM, TYPE_K, LANES);
        }
    }
}

void fetchValues(const uint key_begin) {
    UNROLL for (uint t = 0; t < THREAD_KEYS; t++) {
        uvec2 row = keyAddress(v_head, VKF_V, fetched_pages[t], existingKey(key_begin, t));
        UNROLL for (uint i = 0; i < V_LANE_WORDS; i++) {
            fetched_v[t * V_LANE_WORDS + i] = rowWord(row, i * LANES + lane, VALUE_DIM, TYPE_V, LANES);
        }
    }
}

// Says to the compiler that nothing fetched is needed any more.
void forgetKeys() {
    FORGET(fetched_k, 0, THREAD_KEYS * K_LANE_WORDS, uvec4(0))
}

void forgetValues() {
    FORGET(fetched_v, 0, THREAD_KEYS * V_LANE_WORDS, uvec4(0))
}

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

// Whether row r sees the key of number t. `cut` says that not all rows see the same keys.
bool seesKey(const uint key_begin, const uint t, const ivec2 visible, const RowKeep keep, const bool partial) {
    uint number = threadKey(key_begin, t);
    uint key = keyOfNumber(unseen, number);
    return partial ? number < keys.y && isVisible(visible, key) && keeps(keep, key) : number < keys.y;
}

// Scores become probabilities, in place; m, l and o follow. Of a cut tile, keys that a row does not see are
// DROPPED; else those past the last key have a probability of zero.
void updateSoftmax(const uint key_begin, const bool partial) {
    uint first_key = keyOfNumber(unseen, threadKey(key_begin, 0));
    UNROLL for (uint r = 0; r < THREAD_ROWS; r++) {
        ivec2 visible = partial ? visibleKeys(item, queryRow(item.row_begin + r)) : ivec2(0);
        RowTerms terms = rowTerms(item, queryHead(item, item.row_begin + r), slope_row[r],
                                  queryRow(item.row_begin + r), first_key);
        RowKeep keep = rowKeep(item, queryHead(item, item.row_begin + r), queryRow(item.row_begin + r));
        float m_new = m_row[r];
        UNROLL for (uint t = 0; t < THREAD_KEYS; t++) {
            uint key = keyOfNumber(unseen, threadKey(key_begin, t));
            float s = withTerms(terms, key - first_key, finalScore(s_tile[r * THREAD_KEYS + t]));
            s = seesKey(key_begin, t, visible, keep, partial) ? s : MINUS_INFINITY;
            s_tile[r * THREAD_KEYS + t] = s;
            m_new = max(m_new, s);
        }
        // A row that has seen nothing yet would subtract infinity from infinity.
        float m = m_new == MINUS_INFINITY ? 0.0 : m_new;
        float alpha = exp2(m_row[r] - m);
        float l = l_row[r] * alpha;
        UNROLL for (uint t = 0; t < THREAD_KEYS; t++) {
            float p = exp2(s_tile[r * THREAD_KEYS + t] - m);
            bool seen = seesKey(key_begin, t, visible, keep, partial);
            l += seen ? p : 0.0;
            if (HAS_DROPOUT &&
                !staysIn(dropout_row[HAS_DROPOUT ? r : 0], keyOfNumber(unseen, threadKey(key_begin, t)))) {
                p = 0.0;
            }
            s_tile[r * THREAD_KEYS + t] = seen ? p : (partial ? DROPPED : 0.0);
        }
        UNROLL for (uint c = 0; c < LANE_COLUMNS4; c++) {
            o_tile[r * LANE_COLUMNS4 + c] *= alpha;
        }
        m_row[r] = m_new;
        l_row[r] = l;
    }
}

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
