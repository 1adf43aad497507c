// SPDX-License-Identifier: MIT
//
// Fused attention of few query rows against many keys, for heads that are too wide for the registers of one subgroup.
// Latent attention has heads of this width: one KV head of 576 columns serves all query heads, and v is the first 512
// columns of k. The kernel works on cooperative matrices, with fp16 or bf16 products and fp32 sums. It is the split
// form of FlashAttention-2 ("Flash-Decoding"): merge/merge_splits.comp merges the key splits. Numbers in comments are
// lines of algorithm 1 (Dao 2023, arXiv 2307.08691):
//
//      3       for the packed rows i of a KV head, and a key split              a workgroup: itemOf, splitKeys
//      4         load q_i                                                       loadQueries
//      5         o_i = 0, l_i = 0, m_i = -infinity                              beginRows
//      6         for each tile j of the split's keys                            attend
//      7           load k_j, v_j                                                fetchKeys, stageKeys, fetchValues,
//                                                                               stageValues
//      8           s = q_i k_j^T                                                computeProducts, pairOfScores
//      9           m_i = max(m_i, rowmax s), p = exp(s - m_i),
//                  l_i = exp(m_old - m_i) l_i + rowsum p                        updateSoftmax
//     10           o_i = exp(m_old - m_i) o_i + p v_j                           accumulateOutput
//     12..15     o_i = o_i / l_i, lse_i = m_i + log l_i, store both             finishRows, storeOutput
//
// A workgroup owns ROW_MATRICES matrices of packed rows (common/item.glsl). k passes through shared memory once. Where
// v is a view of k, k serves as v too. The subgroups share every step of a tile:
//
//     8    Each pair of a matrix of rows and a matrix of keys has DEPTH_SUBGROUPS subgroups. Each of them has its own
//          columns of q and k, and keeps these columns of q in registers. Their partial sums meet in shared memory.
//     9    Each row has ROW_THREADS invocations with two scores each, in plain arithmetic. An invocation takes part in
//          one row of each matrix of rows.
//     10   Each subgroup has its own columns of o, with all rows and keys of the tile.
//
// No code depends on the element layout of a matrix. So any driver's layout works, and bf16 can replace fp16
// (src/pipelines/bfloat16_matrices.hpp).
//
// Where the kernel deviates:
//     7    The k of the next tile is in flight to registers from line 8 on. Where v is not a view of k, v is in flight
//          from line 8 on, and the next k from line 10 on. Both use the same registers.
//     9    Exponentials are powers of two. Scores are in units of log2, unless there is a bias or a score function
//          (scores/units.glsl). m moves by whole numbers, so that factors are powers of two.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

#define VKF_BIAS_IN_EXTRA_SLOT

#include "common/compilers.glsl"
#define VKF_LANES_ID VKF_ID_SUBGROUP_LANES
#include "common/params.glsl"
#include "common/address.glsl"
#include "common/element.glsl"
#include "matrix/matrix_layout.glsl"

layout(constant_id = VKF_ID_LATENT_KEY_MATRICES) const uint KEY_MATRICES = 1;
layout(constant_id = VKF_ID_ROW_MATRICES) const uint ROW_MATRICES = 1;

#include "matrix/loaded_words.glsl"

// The tile, and its shared memory.
const uint SUBGROUPS = WORKGROUP_SIZE / LANES;
const uint DEPTH_SUBGROUPS = SUBGROUPS / (KEY_MATRICES * ROW_MATRICES);
const uint TILE_ROWS = ROW_MATRICES * MATRIX_ROWS;
const uint TILE_KEYS = KEY_MATRICES * MATRIX_DEPTH;
const uint ROW_THREADS = TILE_KEYS / 2;
const uint DIM_MATRICES = VKF_LATENT_MATRICES(HEAD_DIM, MATRIX_DEPTH, DEPTH_SUBGROUPS); // matrices of a subgroup
const uint VALUE_MATRICES = VKF_LATENT_MATRICES(VALUE_DIM, MATRIX_DEPTH, SUBGROUPS);    // of each matrix of rows
const uint ROW_PARTIALS = KEY_MATRICES * DEPTH_SUBGROUPS; // partial sums of scores of a matrix of rows
const uint MATRIX_FLOATS = MATRIX_ROWS * MATRIX_COLUMNS;
const uint MATRIX_VEC4S = MATRIX_FLOATS / 4;

// Sizes in words of eight elements.
const uint SIDE_WORDS = MATRIX_DEPTH / 8;
const uint K_WORDS = HEAD_DIM / 8;
const uint V_WORDS = VALUE_DIM / 8;
const uint STAGE_ROW = VKF_LATENT_ROW_WORDS(HEAD_DIM, VALUE_DIM, MATRIX_DEPTH, DEPTH_SUBGROUPS, SUBGROUPS);
// Loads of an invocation. The loads of q serve TILE_KEYS rows, which are at least TILE_ROWS.
const uint Q_FETCHES = (TILE_KEYS * K_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint K_FETCHES = (TILE_KEYS * K_LOADS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint V_FETCHES = (TILE_KEYS * V_LOADS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint STAGE_MATRICES = TILE_KEYS * STAGE_ROW / (SUBGROUPS * MATRIX_VEC4S); // room for matrices of o
const uint STAGED_MATRICES =
    STAGE_MATRICES < VALUE_MATRICES ? STAGE_MATRICES : VALUE_MATRICES; // matrices that are staged at once

shared uvec4 stage[TILE_KEYS * STAGE_ROW];       // q, then tiles of k, which become tiles of v, then o
shared float s_stage[SUBGROUPS * MATRIX_FLOATS]; // partial sums of scores, then factors of rows
shared uint p_stage[TILE_ROWS * ROW_THREADS];    // pairs of probabilities

// Pages of the keys that are fetched next. Entries of the list of chosen keys follow, for the present tile and the one
// that is fetched next, which take turns.
const uint STAGED_PAGES = PAGED ? TILE_KEYS : 1;
const uint STAGED_ENTRIES = HAS_CHOSEN_KEYS ? 2 * TILE_KEYS : 0;
shared uint page_stage[STAGED_PAGES + STAGED_ENTRIES];

#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/per_key_masks.glsl"
#include "scores/units.glsl"
#include "scores/final_score.glsl"
#include "scores/score_terms.glsl"
#include "softmax/store_lse.glsl"
#include "scores/dropout.glsl"
#include "masks/key_split.glsl"
#include "matrix/special_values.glsl"

// All other mutable state of the kernel.

// The position of the invocation, and what it works on. main sets these variables once.
Item item;
uint thread, subgroup;
uint row, pair;              // the row of each matrix of rows, and the pair of its scores, of this invocation
ivec2 visible[ROW_MATRICES]; // keys of this split that the rows see
uvec2 k_head, v_head;
uvec2 keys;       // key numbers [x, y) of this split (splitKeys)
ivec2 empty_keys; // keys between the first keys and the window, which have no number
bool v_in_k;      // v is a view of k

// Words in flight from memory.
uvec4 fetched[Q_FETCHES];       // k and v need no more
uint fetched_page;              // an entry of the block table
uint fetched_entry, next_entry; // of the list of chosen keys: for the tile of fetched_page, and for the one after it
// The present tile, with pages.
bvec2 present = bvec2(true); // whether the two keys of this invocation's scores have a page
bool all_present = true;     // whether all keys of the tile have
// The state of the algorithm.
LeftMatrix q_matrix[DIM_MATRICES];
ResultMatrix o_matrix[ROW_MATRICES * VALUE_MATRICES];
// The state of this invocation's row of each matrix of rows.
float m[ROW_MATRICES];
float l[ROW_MATRICES];     // running sums over this invocation's scores
float slope[ROW_MATRICES]; // slopes of the rows' heads
RowDropout dropout[ROW_MATRICES];

#include "latent/stage.glsl"

// Line 8: s = q k^T over the subgroup's columns, without the scale.
void computeProducts() {
    ResultMatrix s_matrix = ResultMatrix(0.0);
    uint begin = keyMatrix() * MATRIX_COLUMNS * STAGE_ROW + firstDepth();
    UNROLL for (uint i = 0; i < DIM_MATRICES; i++) {
        RightMatrix k_matrix;
        coopMatLoad(k_matrix, stage, begin + i * SIDE_WORDS, STAGE_ROW, gl_CooperativeMatrixLayoutColumnMajor);
        s_matrix = coopMatMulAdd(q_matrix[i], k_matrix, s_matrix);
    }
    coopMatStore(s_matrix, s_stage, subgroup * MATRIX_FLOATS, MATRIX_COLUMNS, gl_CooperativeMatrixLayoutRowMajor);
}

#include "latent/softmax.glsl"

// Lines 10 and 12: multiplies each row of o by its factor in shared memory.
void scaleOutput() {
    UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
        ResultMatrix factors;
        coopMatLoad(factors, s_stage, firstPartial(r), MATRIX_COLUMNS, gl_CooperativeMatrixLayoutRowMajor);
        UNROLL for (uint i = 0; i < VALUE_MATRICES; i++) {
            o_matrix[r * VALUE_MATRICES + i] *= factors;
        }
    }
}

// Line 10: o = exp(m_old - m) o + p v, for the subgroup's columns.
void accumulateOutput() {
    scaleOutput();
    UNROLL for (uint slice = 0; slice < KEY_MATRICES; slice++) {
        LeftMatrix p_matrix[ROW_MATRICES];
        UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
            coopMatLoad(p_matrix[r], p_stage, r * MATRIX_ROWS * ROW_THREADS + slice * MATRIX_DEPTH / 2, ROW_THREADS,
                        gl_CooperativeMatrixLayoutRowMajor);
        }
        uint begin = slice * MATRIX_DEPTH * STAGE_ROW + subgroup * VALUE_MATRICES * SIDE_WORDS;
        UNROLL for (uint i = 0; i < VALUE_MATRICES; i++) {
            RightMatrix v_matrix;
            coopMatLoad(v_matrix, stage, begin + i * SIDE_WORDS, STAGE_ROW, gl_CooperativeMatrixLayoutRowMajor);
            UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
                o_matrix[r * VALUE_MATRICES + i] =
                    coopMatMulAdd(p_matrix[r], v_matrix, o_matrix[r * VALUE_MATRICES + i]);
            }
        }
    }
}

// Line 7: starts to load k_(j+1), if there is one.
void fetchNext(const uint begin, const uint end) {
    IF_KEEPING_LOADS_HERE (begin + TILE_KEYS < end) {
        fetchKeys(begin + TILE_KEYS);
        fetchPage(begin + 2 * TILE_KEYS);
    } else {
        forgetKeys();
    }
}

// Lines 4 and 6 to 11.
void attend() {
    ivec2 common_keys = commonKeys(item);
    uint end = keys.y;
    loadQueries();                                                         // 4, and 7 of the first tile
    KEEP_LOOP for (uint begin = keys.x; begin < end; begin += TILE_KEYS) { // 6
        findPresentKeys();
        bool full = !MASKS_ANY_KEY && all_present && int(begin) >= common_keys.x &&
                    int(begin + TILE_KEYS) <= min(common_keys.y, int(end));
        barrier();   // the readers of the last tile, or of q, are done
        stageKeys(); // 7: k_j
        stagePage(begin + TILE_KEYS);
        barrier();
        if (v_in_k) { // 7
            fetchNext(begin, end);
        } else {
            fetchValues(begin);
        }
        computeProducts(); // 8
        barrier();
        updateSoftmax(begin); // 9
        if (!v_in_k || !full) {
            stageValues(begin, full); // 7: v_j
        }
        if (!v_in_k) {
            fetchNext(begin, end); // 7
        }
        barrier();
        accumulateOutput(); // 10
    }
}

// Lines 12, 13 and 15: divides o by l and stores lse.
void finishRows() {
    barrier(); // the readers of the factors are done
    UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
        float sum = l[r];
        for (uint distance = 1; distance < ROW_THREADS; distance *= 2) {
            sum += subgroupShuffleXor(sum, distance);
        }
        uint packed_row = packedRow(r);
        FinishedRow finished = finishRow(queryHead(item, packed_row), m[r], sum);
        stageFactor(r, scaledByDropout(inverseOfSum(finished.l)));
        if (HAS_LSE && pair == 0 && packed_row < packedRows(item)) {
            Item of_row = item;
            of_row.head = queryHead(item, packed_row);
            storeLse(of_row, queryRow(packed_row), m[r], sum, finished);
        }
    }
    barrier();
    scaleOutput();
}

// Stores STAGED_MATRICES matrices of each subgroup, from number `first` of a matrix of rows on. All subgroups stage
// theirs first. Then all store, four columns at a time.
void storeMatrices(const uint r, const uint first) {
    UNROLL for (uint i = 0; i < STAGED_MATRICES; i++) {
        if (first + i < VALUE_MATRICES) {
            coopMatStore(o_matrix[r * VALUE_MATRICES + first + i], stage,
                         (subgroup * STAGED_MATRICES + i) * MATRIX_VEC4S, MATRIX_COLUMNS / 4,
                         gl_CooperativeMatrixLayoutRowMajor);
        }
    }
    barrier();
    const uint row_vec4s = MATRIX_COLUMNS / 4;
    bool special = special_values != 0u;
    KEEP_LOOP for (uint i = thread; i < SUBGROUPS * STAGED_MATRICES * MATRIX_VEC4S; i += WORKGROUP_SIZE) {
        uint matrix = i / MATRIX_VEC4S; // number among the staged matrices
        uint of_subgroup = first + matrix % STAGED_MATRICES;
        uint packed_row = item.row_begin + r * MATRIX_ROWS + i / row_vec4s % MATRIX_ROWS;
        uint column = (matrix / STAGED_MATRICES * VALUE_MATRICES + of_subgroup) * MATRIX_COLUMNS + i % row_vec4s * 4;
        if (of_subgroup >= VALUE_MATRICES || packed_row >= packedRows(item) || column >= VALUE_DIM) {
            continue;
        }
        vec4 o = uintBitsToFloat(stage[i]);
        if (special) {
            Item of_row = item;
            of_row.head = queryHead(item, packed_row);
            o += specialValues(of_row, v_head, queryRow(packed_row), column);
        }
        uvec2 head = headAddress(params.o, VKF_O, item.partial_result, queryHead(item, packed_row), item.first_row);
        storeRow4(rowAddress(head, VKF_O, queryRow(packed_row)), column, VALUE_DIM, TYPE_O,
                  isAligned4(head, params.row_stride[VKF_O], TYPE_O), o);
    }
}

// Line 14, for one matrix of rows. Constants index the matrices, because matrices that a variable indexes live in
// memory (docs/kernel_rules.md, "What else keeps arrays of matrices in memory"). The stage has room for at least a
// third of them. It is a macro because chains of calls must be short (docs/kernel_rules.md, "Chains of calls").
#define STORE_ROWS(r)                                                                                                  \
    {                                                                                                                  \
        storeMatrices(r, 0);                                                                                           \
        if (VALUE_MATRICES > STAGED_MATRICES) {                                                                        \
            barrier(); /* the readers of the stage are done */                                                         \
            storeMatrices(r, STAGED_MATRICES);                                                                         \
        }                                                                                                              \
        if (VALUE_MATRICES > 2 * STAGED_MATRICES) {                                                                    \
            barrier();                                                                                                 \
            storeMatrices(r, 2 * STAGED_MATRICES);                                                                     \
        }                                                                                                              \
    }

// Line 14.
void storeOutput() {
    STORE_ROWS(0)
    if (ROW_MATRICES > 1) {
        barrier();
        STORE_ROWS(1)
    }
}

// Line 5, and what the rows of this invocation need in every tile.
void beginRows() {
    UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
        uint head = queryHead(item, packedRow(r));
        uint query_row = queryRow(packedRow(r));
        slope[r] = slopeOf(head);
        dropout[r] = rowDropout(item, head, query_row);
        visible[r] = visibleKeys(item, query_row);
        if (!HAS_CHOSEN_KEYS) {
            visible[r].y = min(visible[r].y, int(keyOfNumber(empty_keys, keys.y)));
        }
        m[r] = BEFORE_ANY_KEY;
        l[r] = 0.0;
    }
    UNROLL for (uint i = 0; i < ROW_MATRICES * VALUE_MATRICES; i++) {
        o_matrix[i] = ResultMatrix(0.0);
    }
}

void main() {
    thread = threadIndex();
    subgroup = thread / LANES;
    row = thread / ROW_THREADS;
    pair = thread % ROW_THREADS;
    item = itemOf(params.first_item + gl_WorkGroupID.x); // 3
    if (isIdle(item)) {
        return;
    }
    k_head = keyHeadAddress(params.k, VKF_K, item);
    v_head = keyHeadAddress(params.v, VKF_V, item);
    v_in_k = isView();
    empty_keys = unseenKeys(item);
    beginList(item);
    keys = splitKeys(item, TILE_KEYS);
    loadScales(item.kv_head);
    if (thread == 0) {
        special_values = 0u;
    }
    beginRows(); // 5
    if (keys.x < keys.y) {
        attend(); // 4, 6 to 11
    }
    finishRows();  // 12, 13, 15
    storeOutput(); // 14
}
