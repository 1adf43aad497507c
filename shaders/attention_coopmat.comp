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
// come last, in a loop of their own.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#ifdef VKF_MATRIX_BF16
#extension GL_EXT_bfloat16 : require
#else
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#endif

// Matrices indexed by a variable live in memory, which only a software driver does not mind; its compiler
// minds long code, and gets these loops with the other hint (src/rolled_loops.cpp).
#define UNROLL [[unroll]]

#include "params.glsl"
#include "matrix_tile.glsl"
#include "address.glsl"
#include "element.glsl"
#include "item.glsl"
#include "mask.glsl"
#include "block_mask.glsl"
#include "keep.glsl"
#include "tile_map.glsl"
#include "final_score.glsl"
#include "score_terms.glsl"
#include "sink.glsl"
#include "dropout.glsl"
#include "special_values.glsl"
#include "matrix_stage.glsl"

// m is raised, and o rescaled, where a score passes it by more than this, in units of log2: probabilities
// stay under 2^8, far from fp16's largest.
#define RESCALE_THRESHOLD 8.0
// m before any key: below every score, and finite, so that the difference to a score of -inf is one.
#define BEFORE_ANY_KEY (-3.0e38)

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
float largest[ROW_TILES * SLOTS]; // of this invocation's scores of the present tile, in units of log2
float row_factor[SLOTS];          // of the rows of one row of matrices
float slope_row[PACKED_HEADS == 1 ? 1 : ROW_TILES * SLOTS];
bool bias_in_words;               // each row's begins with a word
ResultMatrix factors;             // the same, each in all columns of its row
RowDropout dropout_row[HAS_DROPOUT ? ROW_TILES * SLOTS : 1];
uint first_key;                   // that this lane has a score of, in the tile that o takes in

// p = 2^(s - m), which l takes in before it is rounded; `row` as m_row counts.
float takeProbability(const uint row, const float s) {
    float p = exp2(fma(s, lateScale(), -m_row[row]));
    l_row[row] += p;
    return p;
}

#ifdef VKF_MATRIX_EXCHANGE
#include "matrix_exchange.glsl"
#else
#include "matrix_registers.glsl"
#endif
#include "matrix_output.glsl"

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

#include "matrix_scores.glsl"

void findLargest() {
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        UNROLL for (uint slot = 0; slot < SLOTS; slot++) {
            float x = SCORE(r * KEY_TILES, slot * SLOT_ELEMENTS);
            UNROLL for (uint key = 0; key < KEY_TILES; key++) {
                UNROLL for (uint i = 0; i < SLOT_ELEMENTS; i++) {
                    x = max(x, SCORE(r * KEY_TILES + key, slot * SLOT_ELEMENTS + i));
                }
            }
            largest[r * SLOTS + slot] = x * lateScale();
        }
    }
}

bool outgrown() {
    bool grown = false;
    UNROLL for (uint i = 0; i < ROW_TILES * SLOTS; i++) {
        grown = grown || largest[i] > m_row[i] + RESCALE_THRESHOLD;
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
            float reached = largest[i] > m_row[i] ? largest[i] : m_row[i];
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

// The scores of one tile, with m such that no probability passes 2^RESCALE_THRESHOLD. A loop and not a
// branch around the rescaling: products are made again in the rare tile that needs it, because compilers
// were seen to copy all of o in every tile where a branch joins two versions of it.
void computeScores(const uint key_begin, const bool whole) {
    for (;;) {
        beginScores(key_begin, whole);
        computeProducts();
        takeScores();
        if (HAS_SOFTCAP) {
            capScores();
        }
        if (TERMS_LAST) {
            addTerms(key_begin);
        }
        if (!whole) {
            if (HAS_KEEP && !(HAS_TILE_MAP && isKept(key_begin / TILE_KEYS))) {
                dropUnkept(key_begin);
            }
            dropInvisible(key_begin);
        }
        findLargest();
        if (!outgrown()) {
            break;
        }
        rescale();
    }
}

// o += p v. The probabilities of the next depth are made between products of this one, while the matrix unit works.
void accumulateOutput() {
    makeProbabilities(0);
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

const bool STEPS_OVER = HAS_BLOCK_MASK || HAS_TILE_MAP; // tiles that nobody sees
const bool PASSES_UNSEEN = HAS_KEEP && !HAS_TILE_MAP;   // tiles between the first keys and the window

// Tiles of keys that some row of the workgroup sees: [first, end), of which all rows see all keys of
// [whole_first, whole_end). The walk goes over those first, then over the ones that a mask cuts, on either
// side of them. With a map or a block mask it steps over tiles that nobody sees; a map also tells which are whole. Where
// blocks are cut, or masks are asked key by key without a map, no tile is.
struct Walk {
    uint first, whole_first, whole_end, end;
};

Walk walkOf(const TileMask mask) {
    Walk walk;
    walk.first = uint(mask.any.x) / TILE_KEYS;
    walk.end = uint(max(mask.any.y, mask.any.x) + int(TILE_KEYS) - 1) / TILE_KEYS;
    walk.whole_first = clamp(uint(max(mask.all.x, 0) + int(TILE_KEYS) - 1) / TILE_KEYS, walk.first, walk.end);
    walk.whole_end = clamp(uint(max(mask.all.y, 0)) / TILE_KEYS, walk.whole_first, walk.end);
    if (PASSES_UNSEEN) { // in the place of whole tiles
        ivec2 unseen = unseenKeys(item);
        walk.whole_first = clamp(uint(unseen.x + int(TILE_KEYS) - 1) / TILE_KEYS, walk.first, walk.end);
        walk.whole_end = clamp(uint(unseen.y) / TILE_KEYS, walk.whole_first, walk.end);
    } else if (BLOCKS_ARE_CUT && !HAS_TILE_MAP) {
        walk.whole_end = walk.whole_first;
    }
    return walk;
}

// The first open tile from `tile` on, of the whole or of the cut ones; walk.whole_end or walk.end if there is none.
uint openTileOfWalk(const Walk walk, const uint tile, const bool whole) {
    if (HAS_TILE_MAP) {
        return mappedTile(tile, whole ? walk.whole_end : walk.end, walk.whole_first, walk.whole_end, whole);
    }
    if (whole) {
        return openTile(tile, walk.whole_end);
    }
    uint before = openTile(tile, walk.whole_first);
    return before < walk.whole_first ? before : openTile(max(tile, walk.whole_end), walk.end);
}

uint nextTile(const Walk walk, const uint tile, const bool whole) {
    if (STEPS_OVER) {
        return openTileOfWalk(walk, tile + 1, whole);
    }
    return !whole && tile + 1 == walk.whole_first ? walk.whole_end : tile + 1;
}

// The cut tile that has `index` cut ones before it.
uint cutTile(const Walk walk, const uint index) {
    uint tile = walk.first + index;
    return tile < walk.whole_first ? tile : tile + (walk.whole_end - walk.whole_first);
}

// Under ALiBi scores rise towards the diagonal: m would, too, and every tile be computed twice. Whole tiles so begin
// there, go on to the last, and then from the first.
const bool BEGINS_AT_DIAGONAL = HAS_ALIBI && !STEPS_OVER;

uint diagonalTile() {
    uint row = queryRow(item.row_begin + TILE_ROWS / 2) + item.keys;
    return (max(row, SEQUENCE_ROWS(item)) - SEQUENCE_ROWS(item)) / TILE_KEYS;
}

// Tiles from `tile` to `last`, all whole, or all the cut ones between the two; of those, the ones that are not stepped
// over.
void attend(const Walk walk, uint tile, const uint last, const bool whole) {
    uint begin = tile;
    uint start = tile;
    if (BEGINS_AT_DIAGONAL && whole) {
        start = clamp(diagonalTile(), begin, last);
        tile = start;
    }
    fetchTile(k, v, tile * TILE_KEYS, whole, thread);
    placeTile(k, v, tile * TILE_KEYS, whole, thread);
    barrier();
    [[dont_unroll]] for (;;) {
        computeScores(tile * TILE_KEYS, whole);
        if (HAS_DROPOUT) {
            first_key = tile * TILE_KEYS + lanePlace(lane).y;
        }
        uint next = nextTile(walk, tile, whole);
        bool more = STEPS_OVER ? next <= last : tile != last;
        if (BEGINS_AT_DIAGONAL && whole) {
            next = tile == last ? begin : next;
            more = next != start;
        }
        tile = next;
        // A branch although there is a next tile in nearly all cases: it keeps the loads here. Without it, they
        // were seen to sink to where they are used, and their latency with them.
        if (more) {
            fetchTile(k, v, tile * TILE_KEYS, whole, thread);
        } else {
            forgetTile();
        }
        accumulateOutput();
        barrier(); // the tile's last readers are done
        placeTile(k, v, tile * TILE_KEYS, whole, thread);
        barrier();
        if (!more) {
            break;
        }
    }
}

// The part of the walk's tiles that is the split's. Parts have as many tiles, not as many open ones.
Walk partOf(const Walk walk, const uvec2 steps) {
    uvec2 part = walk.first + steps;
    return Walk(part.x, clamp(walk.whole_first, part.x, part.y), clamp(walk.whole_end, part.x, part.y), part.y);
}

// Tiles [x, y) of the split's part that all rows see, none if y <= x. A walk that steps over tiles is a part already.
uvec2 wholeTiles(const Walk walk, const uvec2 steps) {
    if (STEPS_OVER) {
        return uvec2(openTileOfWalk(walk, walk.whole_first, true), walk.whole_end);
    }
    return walk.whole_first + uvec2(steps.x, min(steps.y, walk.whole_end - walk.whole_first));
}

// From the first to behind the last one that a mask cuts, likewise; whole ones may lie between.
uvec2 cutTiles(const Walk walk, const uvec2 steps) {
    if (STEPS_OVER) {
        return uvec2(openTileOfWalk(walk, walk.first, false), walk.end);
    }
    uint whole = walk.whole_end - walk.whole_first;
    uint begin = max(steps.x, whole);
    return begin < steps.y ? uvec2(cutTile(walk, begin - whole), cutTile(walk, steps.y - 1 - whole) + 1) : uvec2(0);
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
    setTerms();
    setDropout();
    loadQueries();
    clearState();
    barrier();
    clearStage(thread);
    barrier();
    TileMask mask = tileMask(item);
    if (mask.any.x < mask.any.y) {
        Walk walk = walkOf(mask);
        uint passed_over = PASSES_UNSEEN && !STEPS_OVER ? walk.whole_end - walk.whole_first : 0;
        uvec2 steps = shareOfSplit(item, walk.end - walk.first - passed_over) + passed_over;
        if (STEPS_OVER) {
            walk = partOf(walk, steps);
        }
        uvec2 whole = wholeTiles(walk, steps);
        if (!PASSES_UNSEEN && whole.x < whole.y) {
            attend(walk, whole.x, whole.y - 1, true);
        }
        uvec2 cut = cutTiles(walk, steps);
        if (cut.x < cut.y) {
            attend(walk, cut.x, cut.y - 1, false);
        }
    }
    writeResults();
}
