// SPDX-License-Identifier: MIT
//
// Fused attention on cooperative matrices, with fp16 or bf16 products and fp32 sums. The kernel follows algorithm 1 of
// FlashAttention-2 (Dao 2023, arXiv 2307.08691). Numbers in comments are lines of that algorithm:
//
//      1,  2   Tr tiles of query rows, Tc tiles of keys                       src/tiles/coopmat_tile.cpp
//      3       for each tile i of query rows                                  a workgroup: itemOf
//      4         load q_i                                                     loadQueries
//      5         o_i = 0, l_i = 0, m_i = -infinity                            clearState
//      6         for each tile j of keys                                      attend
//      7           load k_j, v_j                                              fetchTile, placeTile
//      8           s = q_i k_j^T                                              makeScores
//      9           m_i = max(m_i, rowmax s), p = exp(s - m_i),
//                  l_i = exp(m_old - m_i) l_i + rowsum p                      rescale, makeProbabilities
//     10           o_i = exp(m_old - m_i) o_i + p v_j                         rescale, accumulateOutput
//     12         o_i = o_i / l_i                                              normalize
//     13         lse_i = m_i + log l_i                                        storeLse
//     14, 15     store o_i, lse_i                                             writeResults
//
// Where the kernel deviates:
//      6   Full tiles and partial tiles have a loop each, so the loop for full tiles has no mask code.
//      7   The next tile is on its way to registers while line 10 uses this tile. With FETCHES_AHEAD, the first tile
//          of the second loop follows the last tile of the first loop in this way.
//      8   Where registers are short, the last depths of q are in shared memory.
//   8, 10  A subgroup skips the products of its first matrix of rows, or of all, with a partial tile of which these rows
//          see no key. coopmat/subgroup_rows.glsl says which matrices a subgroup has.
//      9   Exponentials are powers of two (scores/units.glsl). m_i moves by whole numbers, and only when a
//          score exceeds it by more than RESCALE_THRESHOLD. So nearly all tiles leave o unchanged, and o takes most of
//          the registers.
//     10   The kernel computes p of the next depth between the products of this depth.
//     12   With key splits, a workgroup takes some of the tiles j. merge_splits.comp joins the partial results
//          (o, m, l).
//
// A workgroup owns TILE_ROWS packed rows (common/item.glsl) of one KV head. A subgroup owns SUBGROUP_ROWS of these
// rows, with all their keys and all columns of o. So the softmax of one subgroup overlaps with the products of another.
// Each matrix of k or v that a subgroup reads from shared memory serves ROW_TILES products. A subgroup holds:
//
//     q      ROW_TILES x HELD_DEPTHS matrices
//     s      ROW_TILES x KEY_TILES matrices; an invocation finds its scores by SCORE(matrix, element)
//     p      ROW_TILES x KEY_DEPTHS matrices
//     o      ROW_TILES x VALUE_TILES matrices
//     m, l   in each invocation: one pair for each row of which it holds elements (matrix/matrix_tile.glsl)
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

#define VKF_VOTES
#include "common/compilers.glsl"
#define VKF_LANES_ID VKF_ID_SUBGROUP_LANES
#include "common/params.glsl"
#include "matrix/matrix_tile.glsl"
#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/block_mask.glsl"
#include "masks/per_key_masks.glsl"
#include "masks/tile_map.glsl"
#define VKF_ADDS_BIAS (HAS_BIAS && !BIAS_IS_MASK)
#include "scores/units.glsl"
#include "scores/final_score.glsl"
#include "scores/score_terms.glsl"
#include "scores/finish.glsl"
#include "scores/store_lse.glsl"
#include "scores/dropout.glsl"
#ifndef VKF_BF16X3
#include "matrix/special_values.glsl"
#endif
#include "matrix/half_rows.glsl"
#include "coopmat/subgroup_rows.glsl"
#include "coopmat/sizes.glsl"
#include "coopmat/globals.glsl"
#ifdef VKF_BF16X3
#include "coopmat/bf16x3_stage.glsl"
#else
#include "coopmat/matrix_stage.glsl"
#include "coopmat/query_stage.glsl"
#endif

#include "coopmat/deferred_scores.glsl"

#ifdef VKF_VIA_SHARED
#include "coopmat/elements_via_shared.glsl"
#else
#include "coopmat/elements_in_registers.glsl"
#endif
#include "coopmat/matrix_output.glsl"
#include "coopmat/begin.glsl"
#include "coopmat/matrix_bias.glsl"
#include "coopmat/matrix_scores.glsl"
#include "coopmat/matrix_masks.glsl"
#include "coopmat/running_maximum.glsl"
#ifdef VKF_BF16X3
#include "coopmat/bf16x3_products.glsl"
#endif

// Line 8: the scores of one tile of keys, before masks. Most tiles defer ALiBi to the exponent (deferred_scores.glsl).
// Without a bias, most tiles also defer the scale and a softcap.
void makeScores(const bool full) {
    beginScores();
    if (full || seesTile(0)) {
        computeProducts(0); // s = q_i k_j^T
    } else if (SPREADS_ROWS && seesTile(1)) {
        computeProducts(1);
    }
    takeScores();
    deferred = HAS_SOFTCAP ? softcap() * nearTanhFactors(scoreScale()) : vec3(scoreScale(), 0.0, 0.0);
    if (HAS_SOFTCAP && !(CAPS_DEFERRED && full)) {
        capUnless(areNearZero());
    }
    if (ADDS_BIAS) {
        addBias();
    }
    if (HAS_ALIBI) {
        placeSlopes(full);
    }
}

// Lines 8 and 9: computes the scores of one tile, and raises m so that no probability exceeds 2^RESCALE_THRESHOLD.
//
// A tile that raises m is rare, and computes its products a second time. A branch around the rescaling would avoid
// that. But where a branch joins two versions of o, NVIDIA's compiler copies all of o in every tile. See
// lab/log-0.4.md, "Log: the cooperative-matrix kernel".
void computeScores(const bool full) {
    for (;;) {
        makeScores(full); // 8
        if (!full) {
            if (HAS_PER_KEY_MASKS && !(HAS_TILE_MAP && UNIFORM_BY_VOTE(isUnmaskedTile(tile_begin / TILE_KEYS)))) {
                dropMasked();
            }
            if (BIAS_IS_MASK && !UNIFORM_BY_VOTE(isBiasFree(tile_begin / TILE_KEYS))) {
                dropByBias();
            }
            dropInvisible();
        }
        findTileMaximum(); // 9: rowmax s
        if (!hasOutgrown()) {
            break;
        }
        rescale(); // 9, 10: m_i, and l_i and o_i times exp(m_old - m_i)
        if (HAS_ALIBI && !full) {
            PRETEND_TO_CHANGE(first_key, params.keys);
        }
        if (NEEDS_BIAS(full)) {
            fetchBias(tile_begin, full); // again, because its registers hold scores by now
        }
    }
}

// Lines 8 and 9 for full tiles under ALiBi or a deferred softcap: tries a cheap upper bound of the scores first, which
// is enough for most tiles. This loop is a function of its own: a second exit from the loop of computeScores would make
// plain calls 1.7 % slower, although they never take it. See docs/kernel_rules.md, "What costs registers or moves".
void computeBoundedScores() {
    for (;;) {
        makeScores(true); // 8
        bool near;
        if (!subgroupAny(mayOutgrow(near))) {
            break;
        }
        if (CAPS_DEFERRED) {
            capUnless(near);
        }
        findTileMaximum(); // 9, as above
        if (!hasOutgrown()) {
            break;
        }
        rescale();
        if (ADDS_BIAS) {
            fetchBias(tile_begin, true);
        }
    }
}

#ifndef VKF_BF16X3
// The column of matrices of v after whose products the probabilities of the next depth are made. Only the compiler's
// order depends on it (lab/log-0.4.md, "probabilities of the next 16 keys").
const uint LAST_COLUMN_BEFORE = ROW_TILES == 1 || SHARED_DEPTHS == 0 ? (VALUE_TILES - 1) / 2 : VALUE_TILES - 1;

// Line 10: o_i += p v_j, for matrices of rows from `first_matrix` on. The caller has made the probabilities of the first
// depth. This loop makes the probabilities of the next depth between the products of this depth, while the matrix unit
// works.
void accumulateOutput(const uint first_matrix) {
    UNROLL for (uint depth = 0; depth < KEY_DEPTHS; depth++) {
        UNROLL for (uint c = 0; c < VALUE_TILES; c++) {
            RightMatrix v_tile;
            coopMatLoad(v_tile, stage, V_STAGE + depth * MATRIX_DEPTH * V_ROW + c * VALUE_TILE_WORDS, V_ROW,
                        gl_CooperativeMatrixLayoutRowMajor);
            UNROLL for (uint r = first_matrix; r < ROW_TILES; r++) {
                o_tile[r * VALUE_TILES + c] =
                    coopMatMulAdd(p_tile[r * KEY_DEPTHS + depth], v_tile, o_tile[r * VALUE_TILES + c]);
            }
            if (c == LAST_COLUMN_BEFORE && depth + 1 < KEY_DEPTHS) {
                makeProbabilities(depth + 1, first_matrix);
            }
        }
    }
}

#endif

#include "coopmat/tile_walk.glsl"

#ifdef VKF_NARROW
#include "coopmat/attend_narrow.glsl"
#else

// Whether registers are short. Probabilities must then replace the scores before the loads of the next tile begin.
const bool SHORT_OF_REGISTERS = CAPS_DEFERRED || HAS_ALIBI || SHARED_DEPTHS != 0;

// Lines 6 to 11 for the full tiles of [tile, last] if `full`, else for the partial tiles of that range.
//   - `fetched`: the first tile is on its way to registers already.
//   - `following`: the tile to fetch during the last tile, or NO_TILE. Only with FETCHES_AHEAD.
void attend(const Walk walk, uint tile, const uint last, const bool fetched, const uint following, const bool full) {
    if (!fetched) {
        fetchTile(k, v, tile * TILE_KEYS, full, thread); // 7, of the first tile
    }
    if (NEEDS_BIAS(full)) {
        fetchBias(tile * TILE_KEYS, full);
    }
    placeTile(k, v, tile * TILE_KEYS, full, thread);
    barrier();
    lane_distance = distanceTo(item, tile * TILE_KEYS + laneKey(lane), queryRow(first_row + lanePlace(lane).x));
    if (!full) {
        setMatrixKeys();
    }
    KEEP_LOOP for (;;) { // 6: for each tile j
        tile_begin = tile * TILE_KEYS;
        first_key = tile_begin + laneKey(lane);
        if (full && (CAPS_DEFERRED || HAS_ALIBI)) { // 8, 9: s, m_i
            computeBoundedScores();
        } else {
            computeScores(full);
        }
        uint next = nextTile(walk, tile, full);
        bool more = STEPS_OVER_EMPTY_TILES ? UNIFORM_BY_VOTE(next <= last) : tile != last;
        bool fetches = more || (FETCHES_AHEAD && following != NO_TILE);
        tile = FETCHES_AHEAD && !more ? following : next;
        if (SHORT_OF_REGISTERS) {
            makeProbabilities(0, 0); // 9: p, l_i
        }
        IF_KEEPING_LOADS_HERE(fetches) { // 7: starts to load k_(j+1), v_(j+1)
            fetchTile(k, v, tile * TILE_KEYS, full, thread);
            if (NEEDS_BIAS(full)) {
                fetchBias(tile * TILE_KEYS, full);
            }
        } else {
            forgetTile();
        }
        if (!SHORT_OF_REGISTERS) {
            makeProbabilities(0, 0); // 9: p, l_i
        }
        if (full || seesTile(0)) {
            accumulateOutput(0); // 10
        } else if (SPREADS_ROWS && seesTile(1)) {
            accumulateOutput(1);
        }
        COUNT_ON(lane_distance, int(tile * TILE_KEYS - tile_begin));
        barrier(); // the readers of tile j are done
        if (FETCHES_AHEAD && !more) {
            break;
        }
        placeTile(k, v, tile * TILE_KEYS, full, thread); // 7
        barrier();
        if (!FETCHES_AHEAD && !more) {
            break;
        }
    }
}

#endif

#include "coopmat/split_walk.glsl"

void main() {
    thread = threadIndex();
    subgroup = thread / LANES;
    lane = thread % LANES;
    item = itemOf(params.first_item + gl_WorkGroupID.x); // 3
    if (isIdle(item)) {
        return;
    }
    if (!takeMappedTile(item)) {
        return;
    }
    first_row = item.row_begin + subgroup * SUBGROUP_STEP;
    q = halfRowsOf(params.q, VKF_Q, item, SEQUENCE_ROWS(item));
    k = halfRowsOf(params.k, VKF_K, item, item.keys);
    v = halfRowsOf(params.v, VKF_V, item, item.keys);
#ifdef VKF_BF16X3
    largest_size = 0u;
#else
    if (thread == 0) {
        special_values = 0u;
    }
#endif

    beginBlocks(item);
    setSlopes();
    setBiasFactors();
    beginBias(thread);
    setDropout();
    loadQueries(); // 4
    clearState();  // 5
    TileMask mask = tileMask(item);
    bool sees_keys = mask.any.x < mask.any.y;
    Walk walk = walkOf(mask);
    uint passed_over = PASSES_EMPTY_TILES && !STEPS_OVER_EMPTY_TILES ? walk.full_end - walk.full_first : 0;
    uvec2 steps = shareOfSplit(item, walk.end - walk.first - passed_over) + passed_over;
    if (STEPS_OVER_EMPTY_TILES) {
        walk = splitOf(walk, steps);
    }
    if (FETCHES_EARLY && sees_keys) {
        uvec2 tiles = firstTiles(walk, steps);
        if (tiles.x < tiles.y) {
            fetchTile(k, v, tiles.x * TILE_KEYS, FULL_TILES_FIRST, thread); // 7
        }
    }
    barrier();
    if (CLEARS_STAGE) {
        clearStage(thread);
        barrier();
    }
    if (sees_keys) {
        bool fetched = false;
        uvec2 tiles = firstTiles(walk, steps);
        if (tiles.x < tiles.y) {
            uint following = FETCHES_AHEAD ? firstIfComplete(secondTiles(walk, steps)) : NO_TILE;
            attend(walk, tiles.x, tiles.y - 1, FETCHES_EARLY, following, FULL_TILES_FIRST); // 6 to 11
            fetched = following != NO_TILE;
        }
        tiles = secondTiles(walk, steps);
        if (tiles.x < tiles.y) {
            attend(walk, tiles.x, tiles.y - 1, fetched, NO_TILE, !FULL_TILES_FIRST);
        }
    }
#ifdef VKF_BF16X3
    askForPlainArithmetic();
#endif
    writeResults(); // 12 to 15
}
