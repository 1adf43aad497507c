// SPDX-License-Identifier: MIT
//
// The backward pass in plain fp32 arithmetic. It runs on any device and takes any type. The algorithm is that of
// FlashAttention-2 (Dao 2023, arXiv 2307.08691, algorithm 2), in two kernels that share this code. Numbers in comments
// are its lines:
//
//      4         delta = rowsum(dout o)                        backward_rows.comp
//      5       for each tile j of keys                         a workgroup that owns keys: beginWalk
//      7         dk_j = 0, dv_j = 0                            clearSums
//      8         for each tile i of query rows                 nextTile
//      6, 9        load k_j, v_j, q_i, dout_i                  fetchColumns, stageColumns
//     10           s = q_i k_j^T                               computeScores
//     11           p = exp(s - lse)                            computeGradients
//     12           dv_j += p^T dout_i                          addUp
//     13           dp = dout_i v_j^T                           computeScores
//     14           ds = p (dp - delta)                         computeGradients
//     15           dq_i += ds k_j                              a workgroup that owns rows: addUp
//     16           dk_j += ds^T q_i                            addUp
//     18         store dk_j, dv_j                              storeSums
//
// Where the kernel deviates from the algorithm:
//     15   No workgroup adds to the dq of another one. A workgroup that owns rows visits all keys and computes s and dp
//          again. So no atomic additions are necessary, and all sums have one order.
//      6   Nothing stays in shared memory from one visited tile to the next.
//     12   p and ds pass to the lanes of the group through shared memory, a chunk of visited rows or keys at a time.
//
// A workgroup that owns elements of the bias adds up ds of all pairs that use them.
//
// The tile: OWNED x VISITED pairs. The words "owned" and "visited" stand for rows or keys: OWNS_KEYS says which.
// Sums and pairs stay in registers. Shared memory holds chunks, so that any head dimension fits 16 KiB:
//
//     owned_stage    OWNED x (4 CHUNK_DIM4)       lines 10 and 13, chunk of columns by chunk
//     visited_stage  VISITED x (4 CHUNK_DIM4)     lines 10 and 13
//                    CHUNK_VISITED x all columns  lines 12, 15 and 16, chunk by chunk
//     pair_stage     OWNED x CHUNK_VISITED        p or ds of the chunk
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require

#include "common/compilers.glsl"
#include "shared/backward_params.h"
#define VKF_PUSH_CONSTANTS BackwardParams
#define VKF_LANES_ID VKF_ID_OWNED_LANES
#include "common/params.glsl"

// The tile: which invocation owns which part, and what a workgroup computes.
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

#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/block_mask.glsl"
#include "cache/block_types.glsl"
#include "cache/paging.glsl"
#include "cache/tensor_rows.glsl"
#include "softmax/stored_state.glsl"
#include "scores/units.glsl"
#include "scores/final_score.glsl"
#include "scores/score_terms.glsl"
#include "masks/per_key_masks.glsl"
#include "scores/dropout.glsl"
#include "backward/backward_table.glsl"
#include "backward/pair_products.glsl"
#include "backward/walk.glsl"

// Line 18: the gradients of the owned tile, without rows and columns that do not exist.

// Stores one word of a row for each owned row or key and column word of a sum, times `factor`.
void storeSums(const BackwardTensor tensor, const uint type, const uint dim, const uint base, const uint columns4,
               const float factor) {
    uint first = OWNS_KEYS ? key_begin : item.row_begin;
    uint count = OWNS_KEYS ? stored_keys : SEQUENCE_ROWS(item);
    uint head = OWNS_KEYS ? item.kv_head : item.head;
    BackwardRows rows = backwardRows(tensor, item.partial_result, head, OWNS_KEYS ? item.first_key : item.first_row);
    UNROLL for (uint owned = 0; owned < THREAD_OWNED; owned++) {
        uint row = first + ownedIndex(owned);
        if (row < count) {
            uvec2 address = backwardRow(rows, row);
            bool aligned4 = isAligned4(address, 0, type);
            UNROLL for (uint c = 0; c < MAX_COLUMNS4; c++) {
                if (c < columns4) {
                    storeRow4(address, (lane + c * LANES) * 4, dim, type, aligned4,
                              sums[base + owned * columns4 + c] * factor);
                }
            }
        }
    }
}

// Adds the gradients of a tile of pairs to those of the bias. The sums of an owner of the bias are those of its pairs.
void addBias() {
    float factor = HAS_BIAS_FACTORS ? biasFactorOf(item.head) : 1.0;
    UNROLL for (uint owned = 0; owned < THREAD_OWNED; owned++) {
        UNROLL for (uint visited = 0; visited < THREAD_VISITED; visited++) {
            float ds = scores_dp[FIRST_DP + owned * THREAD_VISITED + visited];
            if (ds != DROPPED_PAIR) {
                sums[owned * BIAS_SUM_WORDS + visited / 4][visited % 4] += ds * factor;
            }
        }
    }
}

void storeBiasElement(const uint row, const uint key, const float x) {
    uvec2 address = backwardRow(backwardRows(VKF_BACKWARD_TABLE.dbias, own_batch, own_head, 0), row);
    storeElement(address, key_begin + key, VKF_BACKWARD_TABLE.call.longest_keys, TYPE_DBIAS,
                 packWords(vec4(x, 0.0, 0.0, 0.0), TYPE_DBIAS), 0);
}

// If rows share the elements, the sums of all rows of the tile are added up first: those of the invocation, then those
// of the groups, in order.
void storeBias() {
    if (VKF_BACKWARD_TABLE.bias_rows != 1) {
        UNROLL for (uint owned = 0; owned < THREAD_OWNED; owned++) {
            uint row = seeing_rows.x + ownedIndex(owned);
            if (row < VKF_BACKWARD_TABLE.bias_rows) {
                UNROLL for (uint visited = 0; visited < THREAD_VISITED; visited++) {
                    storeBiasElement(row, visitedIndex(visited),
                                     sums[owned * BIAS_SUM_WORDS + visited / 4][visited % 4]);
                }
            }
        }
        return;
    }
    UNROLL for (uint visited = 0; visited < THREAD_VISITED; visited++) {
        float sum = 0.0;
        UNROLL for (uint owned = 0; owned < THREAD_OWNED; owned++) {
            sum += sums[owned * BIAS_SUM_WORDS + visited / 4][visited % 4];
        }
        uint index = group * VISITED + visitedIndex(visited);
        pair_stage[index / 4][index % 4] = sum;
    }
    barrier();
    KEEP_LOOP for (uint key = thread; key < VISITED; key += WORKGROUP_SIZE) {
        float sum = 0.0;
        for (uint other = 0; other < GROUPS; other++) {
            uint index = other * VISITED + key;
            sum += pair_stage[index / 4][index % 4];
        }
        storeBiasElement(0, key, sum);
    }
}

#define VKF_OWNED_FIRST (OWNS_KEYS ? key_begin : item.row_begin)
#define VKF_VISITED_FIRST (OWNS_KEYS ? item.row_begin : key_begin)

// The arguments of fetchColumns and stageColumns for lines 10 and 13.
#define VKF_QK_COLUMNS                                                                                                 \
    owned_qk, VKF_TYPE_OWNED_QK, VKF_OWNED_FIRST, visited_qk, VKF_TYPE_VISITED_QK, VKF_VISITED_FIRST, HEAD_DIM
#define VKF_DOV_COLUMNS                                                                                                \
    owned_dov, VKF_TYPE_OWNED_DOV, VKF_OWNED_FIRST, visited_dov, VKF_TYPE_VISITED_DOV, VKF_VISITED_FIRST, VALUE_DIM

// Fetches chunk `chunk` of the summands of dv, or of dq or dk.
void fetchDovSummands(const uint chunk) {
    fetchSummands(visited_dov, VKF_TYPE_VISITED_DOV, VKF_VISITED_FIRST + chunk * CHUNK_VISITED, DOV_WORDS, VALUE_DIM);
}

void fetchQkSummands(const uint chunk) {
    fetchSummands(visited_qk, VKF_TYPE_VISITED_QK, VKF_VISITED_FIRST + chunk * CHUNK_VISITED, QK_WORDS, HEAD_DIM);
}

// Sets what depends on the item's head and sequence. main calls it, because chains of calls must be short
// (docs/kernel_rules.md, "Chains of calls").
void selectHead() {
    turned = false;
    slope = slopeOf(item.head);
    Rows q = rowsOf(params.q, VKF_Q, TYPE_Q, HEAD_DIM, item, SEQUENCE_ROWS(item));
    Rows dout = rowsOf(params.dout, VKF_DOUT, TYPE_DOUT, VALUE_DIM, item, SEQUENCE_ROWS(item));
    Rows k = rowsOf(params.k, VKF_K, TYPE_K, HEAD_DIM, item, item.keys);
    Rows v = rowsOf(params.v, VKF_V, TYPE_V, VALUE_DIM, item, item.keys);
    if (OWNS_KEYS) {
        owned_qk = k;
        owned_dov = v;
        visited_qk = q;
        visited_dov = dout;
    } else {
        owned_qk = q;
        owned_dov = dout;
        visited_qk = k;
        visited_dov = v;
    }
}

// Lines 10 and 13: scores and dp of the tile. Then the first summands are fetched.
void computeScores() {
    clearPairs();
    fetchColumns(VKF_QK_COLUMNS, 0);
    KEEP_LOOP for (uint chunk = 0; chunk < QK_CHUNKS; chunk++) {
        barrier(); // the last readers of the stages are done
        stageColumns(VKF_QK_COLUMNS, chunk);
        barrier();
        if (chunk + 1 < QK_CHUNKS) {
            fetchColumns(VKF_QK_COLUMNS, chunk + 1);
        } else if (NEEDS_DP) {
            fetchColumns(VKF_DOV_COLUMNS, 0);
        } else {
            fetchDovSummands(0);
        }
        addProducts(FIRST_SCORE);
    }
    KEEP_LOOP for (uint chunk = 0; chunk < (NEEDS_DP ? DOV_CHUNKS : 0); chunk++) {
        barrier();
        stageColumns(VKF_DOV_COLUMNS, chunk);
        barrier();
        if (chunk + 1 < DOV_CHUNKS) {
            fetchColumns(VKF_DOV_COLUMNS, chunk + 1);
        } else if (SUMS_DV) {
            fetchDovSummands(0);
        } else if (SUMS_DQK) {
            fetchQkSummands(0);
        }
        addProducts(FIRST_DP);
    }
}

// Lines 12, 15 and 16.
void addUp(const bool partial) {
    KEEP_LOOP for (uint chunk = 0; chunk < (SUMS_DV ? SUM_CHUNKS : 0); chunk++) {
        barrier(); // the last readers of the stages are done
        stageSummands(visited_dov, VKF_TYPE_VISITED_DOV, VKF_VISITED_FIRST + chunk * CHUNK_VISITED, DOV_WORDS,
                      VALUE_DIM, LANES * DV_COLUMNS4);
        stagePairs(FIRST_SCORE, chunk);
        barrier();
        if (chunk + 1 < SUM_CHUNKS) {
            fetchDovSummands(chunk + 1);
        } else if (SUMS_DQK) {
            fetchQkSummands(0);
        }
        addSums(FIRST_DV_SUM, DV_COLUMNS4, partial);
    }
    KEEP_LOOP for (uint chunk = 0; chunk < (SUMS_DQK ? SUM_CHUNKS : 0); chunk++) {
        barrier();
        stageSummands(visited_qk, VKF_TYPE_VISITED_QK, VKF_VISITED_FIRST + chunk * CHUNK_VISITED, QK_WORDS, HEAD_DIM,
                      LANES * DQK_COLUMNS4);
        stagePairs(FIRST_DP, chunk);
        barrier();
        if (chunk + 1 < SUM_CHUNKS) {
            fetchQkSummands(chunk + 1);
        }
        addSums(FIRST_DQK_SUM, DQK_COLUMNS4, partial);
    }
}

void visitTile() {
    computeScores();
    if (isPartialTile() || hasEmptyRow()) {
        computeGradients(true);
        addUp(true);
    } else {
        computeGradients(false);
        addUp(false);
    }
    if (OWNS_BIAS) {
        addBias();
        barrier(); // all have asked hasEmptyRow before the next rows are loaded
    }
}

// Line 18, and dq.
void storeGradients() {
    if (OWNS_BIAS) {
        storeBias();
        return;
    }
    float scale = VKF_BACKWARD_TABLE.scale;
    if (!OWNS_KEYS) {
        storeSums(VKF_BACKWARD_TABLE.dq, TYPE_DQ, HEAD_DIM, FIRST_DQK_SUM, DQK_COLUMNS4, scale);
        return;
    }
    if (WRITES_DK) {
        storeSums(VKF_BACKWARD_TABLE.dk, TYPE_DK, HEAD_DIM, FIRST_DQK_SUM, DQK_COLUMNS4, scale);
    }
    if (WRITES_DV) {
        storeSums(VKF_BACKWARD_TABLE.dv, TYPE_DV, VALUE_DIM, FIRST_DV_SUM, DV_COLUMNS4, scaledByDropout(1.0));
    }
}

void main() {
    thread = gl_LocalInvocationIndex;
    group = thread / LANES;
    lane = thread % LANES;
    if (!beginWalk(params.first_item + gl_WorkGroupID.x)) { // 5
        return;
    }
    clearSums(); // 7
    beginEmptyRows();
    if (OWNER == VKF_OWNS_ROWS) {
        selectHead();
        loadRows();
    }
    KEEP_LOOP while (nextTile()) { // 8
        if (OWNER != VKF_OWNS_ROWS) {
            if (turned) {
                selectHead();
            }
            loadRows();
        }
        visitTile(); // 9 to 16
    }
    storeGradients(); // 18
}
