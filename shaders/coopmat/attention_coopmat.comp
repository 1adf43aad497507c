// SPDX-License-Identifier: MIT
//
// Fused attention on cooperative matrices: fp16 or bf16 products, fp32 sums. FlashAttention-2's order (Dao
// 2023, algorithm 1): a workgroup owns TILE_ROWS packed rows (item.glsl) of one KV head and walks once over the tiles of
// keys; (m, l, o) stay in registers, o and lse are written once.
//
// A subgroup owns SUBGROUP_ROWS of the rows, with all their keys and all columns of o:
//
//     q   ROW_TILES x DIM_TILES matrices
//     s   ROW_TILES x KEY_TILES matrices, the products of one tile of keys; SCORE(matrix, element) is where
//         an invocation finds its scores
//     p   ROW_TILES x KEY_DEPTHS matrices, the probabilities
//     o   ROW_TILES x VALUE_TILES matrices
//     m, l   for each slot: each row of which the invocation holds a part (matrix_tile.glsl)
//
// so that softmax and products of one subgroup overlap with those of another, and each matrix of k or v
// that is read from shared memory serves ROW_TILES products. The next tile is in flight from memory while
// o takes in the present one.
//
// The m of a row is not its maximum but follows it lazily (RESCALE_THRESHOLD), so that o, most of the
// registers, is left alone in nearly all tiles. Masks are looked at only in tiles that one cuts; these
// have a loop of their own, which comes last, under ALiBi first.
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
#include "common/params.glsl"
#include "matrix/matrix_tile.glsl"
#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/block_mask.glsl"
#include "masks/keep.glsl"
#include "masks/tile_map.glsl"
#include "scores/final_score.glsl"
#include "scores/score_terms.glsl"
#include "scores/sink.glsl"
#include "scores/dropout.glsl"
#include "matrix/special_values.glsl"
#include "coopmat/matrix_stage.glsl"

// m is raised, and o rescaled, where a score passes it by more than this, in units of log2: probabilities
// stay under 2^8, far from fp16's largest.
#define RESCALE_THRESHOLD 8.0

Item item;
HalfRows q, k, v;
uint thread, subgroup, lane;
uint first_row; // of the subgroup, packed

LeftMatrix q_tile[ROW_TILES * DIM_TILES];
ResultMatrix s_tile[ROW_TILES * KEY_TILES];
LeftMatrix p_tile[ROW_TILES * KEY_DEPTHS];
ResultMatrix o_tile[ROW_TILES * VALUE_TILES];
float m_row[ROW_TILES * SLOTS];
float l_row[ROW_TILES * SLOTS];
float tile_maximum[ROW_TILES * SLOTS]; // of this invocation's scores of the present tile, in units of log2
float row_factor[SLOTS];          // of the rows of one row of matrices
ResultMatrix factors;             // the same, each in all columns of its row
RowDropout dropout_row[HAS_DROPOUT ? ROW_TILES * SLOTS : 1];

#include "coopmat/deferred_scores.glsl"

// p = 2^x of a row and a key of the lane's. l takes it in before it is rounded or dropped.
float takeProbability(const float x, const uint row, const uint key) {
    float p = exp2(x);
    l_row[row] += p;
    if (HAS_DROPOUT && !staysIn(dropout_row[HAS_DROPOUT ? row : 0], first_key + key)) {
        return 0.0;
    }
    return p;
}

#ifdef VKF_MATRIX_EXCHANGE
#include "coopmat/matrix_exchange.glsl"
#else
#include "coopmat/matrix_registers.glsl"
#endif
#include "coopmat/matrix_output.glsl"

void loadQueries() {
    uint begin = subgroup * STAGE_WORDS;
    fetchQueries(q, first_row, lane);
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        UNROLL for (uint d = 0; d < DIM_TILES; d++) {
            if (d % VKF_MATRIX_STAGED_TILES == 0) {
                subgroupBarrier(); // the readers of the chunk before
                placeQueries(r * Q_CHUNKS + d / VKF_MATRIX_STAGED_TILES, begin, lane);
                subgroupMemoryBarrierShared();
                subgroupBarrier();
            }
            coopMatLoad(q_tile[r * DIM_TILES + d], stage, begin + d % VKF_MATRIX_STAGED_TILES * TILE_WORDS,
                        Q_CHUNK_ROW, gl_CooperativeMatrixLayoutRowMajor);
        }
    }
}

void clearState() {
    UNROLL for (uint i = 0; i < ROW_TILES * VALUE_TILES; i++) {
        o_tile[i] = ResultMatrix(0.0);
    }
    UNROLL for (uint i = 0; i < ROW_TILES * SLOTS; i++) {
        m_row[i] = BEFORE_ANY_KEY;
        l_row[i] = 0.0;
    }
}

#include "coopmat/matrix_bias.glsl"
#include "coopmat/matrix_scores.glsl"

// What m has to reach: of each row the largest score, and what becomes of it.
void findTileMaximum() {
    UNROLL for (uint row = 0; row < OWN_ROWS; row++) {
        float x = ROW_SCORE(row, 0);
        if (HAS_ALIBI) {
            x = exponent(x, 0.0, row, 0);
        }
        UNROLL for (uint i = 1; i < LANE_KEYS; i++) {
            x = max(x, HAS_ALIBI ? exponent(ROW_SCORE(row, i), 0.0, row, i) : ROW_SCORE(row, i));
        }
        tile_maximum[row] = HAS_ALIBI ? x : exponent(x, 0.0, row, 0);
    }
}

// Whether m has to be raised in any invocation.
bool hasOutgrown() {
    bool grown = false;
    UNROLL for (uint row = 0; row < OWN_ROWS; row++) {
        grown = grown || tile_maximum[row] > m_row[row] + RESCALE_THRESHOLD;
    }
    return subgroupAny(grown);
}

// Raises m to the rows' maxima, and brings l and o to the new unit. To whole numbers, so that factors are
// powers of two: neither they nor a lagging m then change how p is rounded to 16 bits.
void rescale() {
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        UNROLL for (uint slot = 0; slot < SLOTS; slot++) {
            uint i = r * SLOTS + slot;
            // A NaN is not greater and so is left out: its row is lost, but the loop that calls this must end.
            float reached = tile_maximum[i] > m_row[i] ? tile_maximum[i] : m_row[i];
            float m = ceil(maxOverColumns(reached));
            float factor = exp2(m_row[i] - m);
            m_row[i] = m;
            l_row[i] *= factor;
            row_factor[slot] = factor;
        }
        makeFactors();
        UNROLL for (uint c = 0; c < VALUE_TILES; c++) {
            o_tile[r * VALUE_TILES + c] *= factors;
        }
    }
}

// The scores of one tile, but for masks.
void makeScores(const bool full) {
    beginScores();
    computeProducts();
    takeScores();
    deferred = HAS_SOFTCAP ? params.softcap * nearTanhFactors(abs(params.score_scale))
                       : vec3(abs(params.score_scale), 0.0, 0.0);
    if (HAS_SOFTCAP && !(CAPS_DEFERRED && full)) {
        capUnless(areNearZero());
    }
    if (BIAS_LAST) {
        addBias();
    }
    if (HAS_ALIBI) {
        placeSlopes(full);
    }
}

// The scores of one tile, with m such that no probability passes 2^RESCALE_THRESHOLD. A loop and not a
// branch around the rescaling: products are made again in the rare tile that needs it, because compilers
// were seen to copy all of o in every tile where a branch joins two versions of it.
void computeScores(const bool full) {
    for (;;) {
        makeScores(full);
        if (!full) {
            if (HAS_KEEP && !(HAS_TILE_MAP && UNIFORM_BY_VOTE(isKept(tile_begin / TILE_KEYS)))) {
                dropUnkept();
            }
            dropInvisible();
        }
        findTileMaximum();
        if (!hasOutgrown()) {
            break;
        }
        rescale();
        if (HAS_ALIBI && !full) {
            PRETEND_TO_CHANGE(first_key, params.keys);
        }
        if (HAS_BIAS) {
            fetchBias(tile_begin, full);
        }
    }
}

// The same for whole tiles of which it takes less to tell what no score passes: mostly that is enough. A function of its own,
// because a second way out of the loop above costs plain calls, too, although they never take it.
void computeBoundedScores() {
    for (;;) {
        makeScores(true);
        bool near;
        if (!subgroupAny(mayOutgrow(near))) {
            break;
        }
        if (CAPS_DEFERRED) {
            capUnless(near);
        }
        findTileMaximum();
        if (!hasOutgrown()) {
            break;
        }
        rescale();
        if (HAS_BIAS) {
            fetchBias(tile_begin, true);
        }
    }
}

// o += p v, those of the first depth being there. The probabilities of the next depth are made between products of this one,
// while the matrix unit works.
void accumulateOutput() {
    UNROLL for (uint depth = 0; depth < KEY_DEPTHS; depth++) {
        UNROLL for (uint c = 0; c < VALUE_TILES; c++) {
            RightMatrix v_tile;
            coopMatLoad(v_tile, stage, V_STAGE + depth * MATRIX_DEPTH * V_ROW + c * VALUE_TILE_WORDS, V_ROW,
                        gl_CooperativeMatrixLayoutRowMajor);
            UNROLL for (uint r = 0; r < ROW_TILES; r++) {
                o_tile[r * VALUE_TILES + c] =
                    coopMatMulAdd(p_tile[r * KEY_DEPTHS + depth], v_tile, o_tile[r * VALUE_TILES + c]);
            }
            if (c == (VALUE_TILES - 1) / 2 && depth + 1 < KEY_DEPTHS) {
                makeProbabilities(depth + 1);
            }
        }
    }
}

#include "coopmat/tile_walk.glsl"

const bool SHORT_OF_REGISTERS = CAPS_DEFERRED || HAS_ALIBI; // before the next tile is asked for

// Tiles from `tile` to `last`, all whole, or all the cut ones between the two; of those, the ones that are not stepped
// over.
void attend(const Walk walk, uint tile, const uint last, const bool full) {
    fetchTile(k, v, tile * TILE_KEYS, full, thread);
    if (HAS_BIAS) {
        fetchBias(tile * TILE_KEYS, full);
    }
    placeTile(k, v, tile * TILE_KEYS, full, thread);
    barrier();
    lane_distance = distanceTo(item, tile * TILE_KEYS + laneKey(lane), queryRow(first_row + lanePlace(lane).x));
    KEEP_LOOP for (;;) {
        tile_begin = tile * TILE_KEYS;
        first_key = tile_begin + laneKey(lane);
        if (full && (CAPS_DEFERRED || HAS_ALIBI)) {
            computeBoundedScores();
        } else {
            computeScores(full);
        }
        uint next = nextTile(walk, tile, full);
        bool more = STEPS_OVER_EMPTY_TILES ? UNIFORM_BY_VOTE(next <= last) : tile != last;
        tile = next;
        if (SHORT_OF_REGISTERS) {
            makeProbabilities(0); // in the place of scores
        }
        IF_KEEPING_LOADS_HERE(more) {
            fetchTile(k, v, tile * TILE_KEYS, full, thread);
            if (HAS_BIAS) {
                fetchBias(tile * TILE_KEYS, full);
            }
        } else {
            forgetTile();
        }
        if (!SHORT_OF_REGISTERS) {
            makeProbabilities(0);
        }
        accumulateOutput();
        COUNT_ON(lane_distance, int(tile * TILE_KEYS - tile_begin));
        barrier(); // the tile's last readers are done
        placeTile(k, v, tile * TILE_KEYS, full, thread);
        barrier();
        if (!more) {
            break;
        }
    }
}

// The part of the walk's tiles that is the split's. Parts have as many tiles, not as many open ones.
Walk splitOf(const Walk walk, const uvec2 steps) {
    uvec2 part = walk.first + steps;
    uint full_end = clamp(walk.full_end, part.x, part.y);
    return Walk(part.x, clamp(walk.full_first, part.x, part.y), full_end, full_end, full_end, part.y);
}

uint fullCount(const Walk walk) {
    return walk.full_end - walk.full_first - (walk.near_end - walk.near_first);
}

// From the first to behind the last of the split's tiles that all rows see, nothing if y <= x. A walk that steps over tiles
// is the split's part already.
uvec2 fullTiles(const Walk walk, const uvec2 steps) {
    if (PASSES_EMPTY_TILES) {
        return uvec2(0);
    }
    if (STEPS_OVER_EMPTY_TILES) {
        beginMapWalk(walk.full_first);
        return uvec2(openTileOfWalk(walk, walk.full_first, true), walk.full_end);
    }
    uint end = min(steps.y, fullCount(walk));
    return steps.x < end ? uvec2(fullTile(walk, steps.x), fullTile(walk, end - 1) + 1) : uvec2(0);
}

// Of those that a mask cuts, likewise; whole ones may lie between.
uvec2 partialTiles(const Walk walk, const uvec2 steps) {
    if (STEPS_OVER_EMPTY_TILES) {
        beginMapWalk(walk.first);
        return uvec2(openTileOfWalk(walk, walk.first, false), walk.end);
    }
    uint full = fullCount(walk);
    uint begin = max(steps.x, full);
    return begin < steps.y ? uvec2(partialTile(walk, begin - full), partialTile(walk, steps.y - 1 - full) + 1) : uvec2(0);
}

void main() {
    thread = threadIndex();
    subgroup = thread / LANES;
    lane = thread % LANES;
    item = itemOf(params.first_item + gl_WorkGroupID.x);
    if (isIdle(item)) {
        return;
    }
    takeMappedTile(item);
    first_row = item.row_begin + subgroup * SUBGROUP_ROWS;
    q = halfRowsOf(params.q, VKF_Q, item, SEQUENCE_ROWS(item));
    k = halfRowsOf(params.k, VKF_K, item, item.keys);
    v = halfRowsOf(params.v, VKF_V, item, item.keys);
    if (thread == 0) {
        special_values = 0u;
    }

    beginBlocks(item);
    setSlopes();
    beginBias(thread);
    setDropout();
    loadQueries();
    clearState();
    barrier();
    clearStage(thread);
    barrier();
    TileMask mask = tileMask(item);
    if (mask.any.x < mask.any.y) {
        Walk walk = walkOf(mask);
        uint passed_over = PASSES_EMPTY_TILES && !STEPS_OVER_EMPTY_TILES ? walk.full_end - walk.full_first : 0;
        uvec2 steps = shareOfSplit(item, walk.end - walk.first - passed_over) + passed_over;
        if (STEPS_OVER_EMPTY_TILES) {
            walk = splitOf(walk, steps);
        }
        uvec2 tiles = FULL_TILES_FIRST ? fullTiles(walk, steps) : partialTiles(walk, steps);
        if (tiles.x < tiles.y) {
            attend(walk, tiles.x, tiles.y - 1, FULL_TILES_FIRST);
        }
        tiles = FULL_TILES_FIRST ? partialTiles(walk, steps) : fullTiles(walk, steps);
        if (tiles.x < tiles.y) {
            attend(walk, tiles.x, tiles.y - 1, !FULL_TILES_FIRST);
        }
    }
    writeResults();
}
