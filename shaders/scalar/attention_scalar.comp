// SPDX-License-Identifier: MIT
//
// Fused attention in plain fp32 arithmetic. It runs on any device and takes any type. It is the fast path for fp32.
// The algorithm is FlashAttention-2 (Dao 2023, arXiv 2307.08691, algorithm 1). Numbers in comments are its lines:
//
//      1,  2   Tr tiles of query rows, Tc tiles of keys                  src/tiles/scalar_tile.cpp
//      3       for each tile i of query rows                             a workgroup: itemOf
//      4         load q_i                                                fetchQ, stageQ
//      5         o_i = 0, l_i = 0, m_i = -infinity                       clearOutput, clearSoftmax
//      6         for each tile j of keys                                 main
//      7           load k_j, v_j                                         fetchK, stageK, fetchV, stageV
//      8           s = q_i k_j^T                                         computeScores
//      9           m_i = max(m_i, rowmax s), p = exp(s - m_i),
//                  l_i = exp(m_old - m_i) l_i + rowsum p                 updateSoftmax
//     10           o_i = exp(m_old - m_i) o_i + p v_j                    updateSoftmax, computeOutput
//     12         o_i = o_i / l_i                                         writeResults
//     13         lse_i = m_i + log l_i                                   storeLse
//     14, 15     store o_i, lse_i                                        writeResults
//
// Where the kernel deviates from the algorithm:
//      4   If the columns of q do not fit shared memory at once, q is loaded again for each tile of keys.
//      6   The kernel skips empty tiles. With key splits, a workgroup takes some of the tiles; merge_splits.comp merges
//          the partial results.
//      7   k and v come in chunks. The next chunk is loaded while the current one is multiplied.
//      9   Exponentials are powers of two. scores/units.glsl has the unit of scores.
//
// (m, l, o) stay in registers from the first tile of keys to the last. No array of size N x N exists. Shared memory
// holds only chunks, so that any head dimension fits 16 KiB:
//
//     q_stage   TILE_ROWS x (4 CHUNK_DIM4) of q     staged for every chunk of columns, or once if there is one chunk
//     kv_stage  TILE_KEYS x (4 CHUNK_DIM4) of k     in line 8, chunk of columns by chunk
//               CHUNK_KEYS x (4 VALUE_DIM4) of v    in line 10, chunk of keys by chunk
//     p_stage   TILE_ROWS x CHUNK_KEYS of p
//
// For study, the kernel can also run the loops in the order of the first FlashAttention paper (key_outer.glsl).
// scores.glsl and output.glsl describe which invocation owns which part of a tile.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
#ifdef VKF_SUBGROUPS
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif

#include "common/compilers.glsl"
#define VKF_LANES_ID VKF_ID_ROW_LANES
#include "common/params.glsl"
#include "scalar/scalar_tile.glsl"
#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/block_mask.glsl"
#include "scalar/stage_values.glsl"
#include "cache/absent_pages.glsl"
#include "scores/units.glsl"
#include "scores/final_score.glsl"
#include "scores/score_terms.glsl"
#include "masks/per_key_masks.glsl"
#include "masks/tile_map.glsl"
#include "softmax/store_lse.glsl"
#include "scores/dropout.glsl"
#include "scalar/scores.glsl"
#include "scalar/output.glsl"
#include "scalar/softmax.glsl"
#include "scalar/key_outer.glsl"

Item item;
TileMask mask;
ivec2 empty_keys; // between the first keys and the window: no row of the tile sees them
Rows q, k, v;
uint thread, group, lane;

// Fetches chunk `chunk` of k, for the keys from key_begin on. Fetches the same chunk of q if q does not stay in shared
// memory.
void fetchScoreOperands(const uint key_begin, const uint chunk) {
    if (DIM_CHUNKS > 1) {
        fetchQ(q, item.row_begin, chunk, thread);
    }
    fetchK(k, key_begin, chunk, thread);
}

// Line 8: s = q k^T for the keys from key_begin on. Then the first chunk of v is fetched.
void computeScores(const uint key_begin) {
    clearScores();
    KEEP_LOOP for (uint chunk = 0; chunk < DIM_CHUNKS; chunk++) {
        barrier(); // the last readers of the stages are done
        if (DIM_CHUNKS > 1) {
            stageQ(q, item.row_begin, chunk, thread);
        }
        stageK(k, key_begin, chunk, thread);
        barrier();
        if (chunk + 1 < DIM_CHUNKS) {
            fetchScoreOperands(key_begin, chunk + 1);
        } else {
            fetchV(v, key_begin, thread);
        }
        accumulateScores(group, lane);
    }
}

// Line 10: o += p v for the same keys. Then the first chunk of k of the next tile, which begins at next_begin, is
// fetched. KEY_OUTER has no next tile.
void computeOutput(const uint key_begin, const uint next_begin, const bool partial) {
    KEEP_LOOP for (uint chunk = 0; chunk < KEY_CHUNKS; chunk++) {
        uint chunk_begin = key_begin + chunk * CHUNK_KEYS;
        barrier(); // the last readers of the stages are done
        stageV(v, chunk_begin, thread);
        stageP(chunk, group, lane);
        barrier();
        if (chunk + 1 < KEY_CHUNKS) {
            fetchV(v, chunk_begin + CHUNK_KEYS, thread);
        } else if (!KEY_OUTER) {
            fetchScoreOperands(next_begin, 0);
        }
        if (partial) {
            accumulateOutput(group, lane, true);
        } else {
            accumulateOutput(group, lane, false);
        }
    }
}

// Whether the tile is partial: masks must then test each pair. It must be the tile that nextTile found last. For
// BIAS_IS_MASK a tile with a bias is partial too.
bool isPartialTile(const uint key_begin) {
    bool masked = HAS_TILE_MAP ? !isUnmaskedTile(key_begin / TILE_KEYS)
                               : BLOCKS_CROSS_TILES || mayBeMasked(item, key_begin + TILE_KEYS);
    if (BIAS_IS_MASK) {
        masked = masked || !isBiasFree(key_begin / TILE_KEYS);
    }
    return masked || some_absent || isPartial(mask, key_begin, key_begin + TILE_KEYS);
}

// First key of the first non-empty tile from key_begin on; past the last key if there is none. A tile map keeps the
// position of the walk itself. The map also knows which tiles between the first keys and the window are empty.
uint nextTile(uint key_begin) {
    uint end = (uint(mask.any.y) + TILE_KEYS - 1) / TILE_KEYS;
    if (HAS_TILE_MAP) {
        return nextMappedTile(end, 0, 0, false) * TILE_KEYS;
    }
    if (FIRST_KEYS != 0 && int(key_begin) >= empty_keys.x) {
        key_begin = max(key_begin, uint(empty_keys.y) / TILE_KEYS * TILE_KEYS);
    }
    return !HAS_BLOCK_MASK ? key_begin : openTile(key_begin / TILE_KEYS, end) * TILE_KEYS;
}

// The keys of the item's split, among the keys [any.x, any.y) that some row sees. Splits meet at the edges of tiles.
ivec2 keysOfSplit(ivec2 any) {
    uint first = uint(any.x) / TILE_KEYS;
    uint end = (uint(max(any.x, any.y)) + TILE_KEYS - 1) / TILE_KEYS;
    ivec2 share = ivec2((shareOfSplit(item, end - first) + first) * TILE_KEYS);
    return ivec2(max(any.x, share.x), min(any.y, share.y));
}

// Lines 12 to 15.
void writeResults() {
    sumOverLanes(l_row, group, lane);
    float factor[THREAD_ROWS];
    FinishedRow finished[THREAD_ROWS];
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        finished[row] = finishRow(item.head, m_row[row], l_row[row]);
        factor[row] = finished[row].l == 0.0 ? EMPTY_ROW : scaledByDropout(1.0 / finished[row].l);
    }
    storeOutput(item, group, lane, factor);
    if (HAS_LSE && lane == 0) {
        UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
            uint i = item.row_begin + tileRow(group, row);
            if (i < END_ROW(item)) {
                storeLse(item, i, m_row[row], l_row[row], finished[row]);
            }
        }
    }
}

// The fallback is the second kernel of a call whose first one multiplies parts of numbers (coopmat/bf16x3.glsl).
#ifdef VKF_FALLBACK
layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer Bf16x3TableAt {
    Bf16x3Table table;
};
#define endIfUnwanted()                                                                                                \
    if (Bf16x3TableAt(optionalInputs()).table.fallback == 0u) {                                                        \
        return;                                                                                                        \
    }
#else
#define endIfUnwanted()
#endif

void main() {
    endIfUnwanted();
    thread = threadIndex();
    group = thread / LANES;
    lane = thread % LANES;
    uint number = params.first_item + gl_WorkGroupID.x;
    item = itemOf(KEY_OUTER ? number % itemsOfKeyTile() : number); // 3
    if (isIdle(item)) {
        return;
    }
    if (!takeMappedTile(item)) {
        return;
    }
    mask = tileMask(item);
    empty_keys = unseenKeys(item);
    beginList(item);
    if (HAS_CHOSEN_KEYS) { // the walk goes over the entries of a list
        mask.any = ivec2(0, list_end);
    }
    slope = slopeOf(item.head);
    loadScales(item.kv_head);
    q = rowsOf(params.q, VKF_Q, TYPE_Q, HEAD_DIM, item, SEQUENCE_ROWS(item));
    uint keys_count = HAS_CHOSEN_KEYS ? list_end : item.keys;
    k = rowsOf(params.k, VKF_K, TYPE_K, HEAD_DIM, item, keys_count);
    v = rowsOf(params.v, VKF_V, TYPE_V, VALUE_DIM, item, keys_count);
    beginBlocks(item);
    clearOutput(); // 5
    clearSoftmax();
    setDropout(item, group);
    ivec2 keys = KEY_SPLITS > 1 ? keysOfSplit(mask.any) : mask.any;
    if (KEY_OUTER) {
        keys = keysOfPass(mask.any, number);
        bool starts = keys.x == mask.any.x; // the first pass stores the state of the rows even if the tile is empty
        if (keys.x >= keys.y || (!starts && int(nextTile(uint(keys.x))) >= keys.y)) {
            return; // no row of the tile sees these keys
        }
        if (!starts) {
            loadState(item, group, lane);
        }
    }
    if (keys.x < keys.y) {
        lookForAbsentPages(item, thread, uint(keys.x), uint(keys.y));
        uint first_tile = uint(keys.x) / TILE_KEYS;
        beginMapWalk(first_tile);
        uint first = nextTile(first_tile * TILE_KEYS);
        if (DIM_CHUNKS == 1) {
            fetchQ(q, item.row_begin, 0, thread); // 4
            stageQ(q, item.row_begin, 0, thread);
        }
        fetchScoreOperands(first, 0);                                                           // 4, 7
        for (uint next = first, key_begin = first; int(key_begin) < keys.y; key_begin = next) { // 6
            bool partial = isPartialTile(key_begin);
            next = nextTile(key_begin + TILE_KEYS);
            computeScores(key_begin); // 7, 8
            if (partial) {
                updateSoftmax(item, group, lane, key_begin, true); // 9, and o_i of 10 times exp(m_old - m_i)
            } else {
                updateSoftmax(item, group, lane, key_begin, false);
            }
            computeOutput(key_begin, next, partial); // 7, 10
        }
    }
    if (KEY_OUTER) { // key_outer.glsl has the lines of the first paper
        storeState(item, group, lane);
    } else {
        writeResults(); // 12 to 15
    }
}
