// SPDX-License-Identifier: MIT
//
// Fused attention in plain fp32 arithmetic: any device, any type, and the fast path for fp32.
// FlashAttention-2's order (Dao 2023, algorithm 1): a workgroup owns TILE_ROWS query rows of one head
// and walks once over the keys, TILE_KEYS at a time, with (m, l, o) in registers; o and lse are
// written once, at the end. Nothing of size N x N exists. Where row tiles and heads would leave a device idle, a
// workgroup takes a part of the keys, and merge_splits.comp joins the parts.
//
// Shared memory holds only pieces, so that any head dimension fits 16 KiB:
//
//     q_stage   TILE_ROWS x (4 CHUNK_DIM4) of q     placed for every chunk of columns, or once if the
//                                                   head has one chunk
//     kv_stage  TILE_KEYS x (4 CHUNK_DIM4) of k     while scores are summed up over the chunks, then
//               CHUNK_KEYS x (4 VALUE_DIM4) of v    while o takes in the tile, chunk by chunk
//     p_stage   TILE_ROWS x CHUNK_KEYS of p
//
// For study, the same kernel also takes the loops in the other order, a dispatch for each tile of keys
// (key_outer.glsl).
//
// How a tile is spread over the invocations is told in scores.glsl and output.glsl; tiles are chosen by
// src/tiles/scalar_tile.cpp.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef VKF_SUBGROUPS
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif

#include "common/compilers.glsl"
#include "common/params.glsl"
#include "scalar/scalar_tile.glsl"
#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/block_mask.glsl"
#include "scalar/stage.glsl"
#include "scores/final_score.glsl"
#include "scores/score_terms.glsl"
#include "masks/keep.glsl"
#include "masks/tile_map.glsl"
#include "scores/sink.glsl"
#include "scores/dropout.glsl"
#include "scalar/scores.glsl"
#include "scalar/output.glsl"
#include "scalar/softmax.glsl"
#include "scalar/key_outer.glsl"

Item item;
TileMask mask;
ivec2 unseen; // keys between the first ones and the window
Rows q, k, v;
uint thread, group, lane;

// The first chunk of k for the keys from key_begin on, and of q if it does not stay.
void fetchScoreOperands(const uint key_begin, const uint chunk) {
    if (DIM_CHUNKS > 1) {
        fetchQ(q, item.row_begin, chunk, thread);
    }
    fetchK(k, key_begin, chunk, thread);
}

// s = q k^T for the keys from key_begin on; leaves the first chunk of v fetched.
void computeScores(const uint key_begin) {
    clearScores();
    KEEP_LOOP for (uint chunk = 0; chunk < DIM_CHUNKS; chunk++) {
        barrier(); // the last readers of the stages are done
        if (DIM_CHUNKS > 1) {
            placeQ(q, item.row_begin, chunk, thread);
        }
        placeK(k, key_begin, chunk, thread);
        barrier();
        if (chunk + 1 < DIM_CHUNKS) {
            fetchScoreOperands(key_begin, chunk + 1);
        } else {
            fetchV(v, key_begin, thread);
        }
        accumulateScores(group, lane);
    }
}

// o += p v for the same keys; leaves the first chunk of the next tile's k, from next_begin on, fetched.
void computeOutput(const uint key_begin, const uint next_begin, const bool partial) {
    KEEP_LOOP for (uint chunk = 0; chunk < KEY_CHUNKS; chunk++) {
        uint chunk_begin = key_begin + chunk * CHUNK_KEYS;
        barrier(); // as above
        placeV(v, chunk_begin, thread);
        placeP(chunk, group, lane);
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

// Whether keys of the tile must be asked about one by one. The tile is the one that was found last.
bool isPartialTile(const uint key_begin) {
    bool asked = HAS_TILE_MAP ? !isKept(key_begin / TILE_KEYS) : BLOCKS_CROSS_TILES || HAS_KEEP;
    return asked || isPartial(mask, key_begin, key_begin + TILE_KEYS);
}

// First key of the first tile from key_begin on that some row sees; past the last key if there is none. A map knows
// itself where the walk stands, and what nobody sees between the first keys and the window.
uint nextTile(uint key_begin) {
    uint end = (uint(mask.any.y) + TILE_KEYS - 1) / TILE_KEYS;
    if (HAS_TILE_MAP) {
        return nextMappedTile(end, 0, 0, false) * TILE_KEYS;
    }
    if (FIRST_KEYS != 0 && int(key_begin) >= unseen.x) {
        key_begin = max(key_begin, uint(unseen.y) / TILE_KEYS * TILE_KEYS);
    }
    return !HAS_BLOCK_MASK ? key_begin : openTile(key_begin / TILE_KEYS, end) * TILE_KEYS;
}

// Those of the keys that some row sees which are of the item's split: whole tiles but for the ends.
ivec2 keysOfSplit(ivec2 any) {
    uint first = uint(any.x) / TILE_KEYS;
    uint end = (uint(max(any.x, any.y)) + TILE_KEYS - 1) / TILE_KEYS;
    ivec2 share = ivec2((shareOfSplit(item, end - first) + first) * TILE_KEYS);
    return ivec2(max(any.x, share.x), min(any.y, share.y));
}

void writeResults() {
    sumOverLanes(l_row, group, lane);
    float factor[THREAD_ROWS];
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        factor[row] = l_row[row] == 0.0 ? 0.0 : 1.0 / l_row[row];
        if (HAS_SINKS && ENDS_ROWS) {
            vec3 ended = withSink(item.head, m_row[row], l_row[row]);
            factor[row] = l_row[row] == 0.0 ? 0.0 : ended.z / ended.y;
            m_row[row] = ended.x;
            l_row[row] = ended.y;
        }
        factor[row] = scaledByDropout(factor[row]);
    }
    storeOutput(item, group, lane, factor);
    if (HAS_LSE && lane == 0) {
        UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
            uint i = item.row_begin + tileRow(group, row);
            if (i < SEQUENCE_ROWS(item)) {
                storeLse(item, i, m_row[row], l_row[row]);
            }
        }
    }
}

void main() {
    thread = threadIndex();
    group = thread / LANES;
    lane = thread % LANES;
    uint number = params.first_item + gl_WorkGroupID.x;
    item = itemOf(KEY_OUTER ? number % itemsOfKeyTile() : number);
    if (isIdle(item)) {
        return;
    }
    takeMappedTile(item);
    mask = tileMask(item);
    unseen = unseenKeys(item);
    slope = slopeOf(item.head);
    q = rowsOf(params.q, VKF_Q, TYPE_Q, HEAD_DIM, item, SEQUENCE_ROWS(item));
    k = rowsOf(params.k, VKF_K, TYPE_K, HEAD_DIM, item, item.keys);
    v = rowsOf(params.v, VKF_V, TYPE_V, VALUE_DIM, item, item.keys);

    beginBlocks(item);
    clearOutput();
    clearSoftmax();
    setDropout(item, group);
    ivec2 keys = SPLITS > 1 ? keysOfSplit(mask.any) : mask.any;
    if (KEY_OUTER) {
        keys = keysOfPass(mask.any, number);
        bool starts = keys.x == mask.any.x; // the rows' state, even if the tile's blocks are closed
        if (keys.x >= keys.y || (!starts && int(nextTile(uint(keys.x))) >= keys.y)) {
            return; // no row of the tile sees these keys
        }
        if (!starts) {
            loadState(item, group, lane);
        }
    }
    if (keys.x < keys.y) {
        uint first_tile = uint(keys.x) / TILE_KEYS;
        beginMapWalk(first_tile);
        uint first = nextTile(first_tile * TILE_KEYS);
        if (DIM_CHUNKS == 1) {
            fetchQ(q, item.row_begin, 0, thread);
            placeQ(q, item.row_begin, 0, thread);
        }
        fetchScoreOperands(first, 0);
        uint next = first;
        for (uint key_begin = first; int(key_begin) < keys.y; key_begin = next) {
            bool partial = isPartialTile(key_begin);
            next = nextTile(key_begin + TILE_KEYS);
            computeScores(key_begin);
            if (partial) {
                updateSoftmax(item, group, lane, key_begin, true);
            } else {
                updateSoftmax(item, group, lane, key_begin, false);
            }
            computeOutput(key_begin, next, partial);
        }
    }
    if (KEY_OUTER) {
        storeState(item, group, lane);
    } else {
        writeResults();
    }
}
