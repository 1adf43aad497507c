// SPDX-License-Identifier: MIT
//
// Fused attention of few query rows against many keys whose heads are too wide for the registers of one subgroup:
// latent attention, where one KV head of 576 columns serves all query heads and v is the first 512 columns of k. On
// cooperative matrices, fp16 or bf16 products, fp32 sums.
//
// A workgroup has MATRIX_ROWS packed rows (item.glsl) and takes TILE_KEYS keys at a time. Their k passes
// through shared memory once, the next tile on its way in registers, and is v too where v is a view of k. The
// subgroups share every step of a tile:
//
//     scores    DEPTH_SUBGROUPS subgroups for each matrix of keys, each with its own part of the depths, of which it
//               keeps q in registers; their partial sums meet in shared memory
//     softmax   ROW_THREADS invocations for each row, with two of its scores each, in plain arithmetic
//     output    each subgroup its own columns of o, all rows and keys of the tile
//
// No element of a matrix is touched by place, so a driver may lay them out as it likes, and fp16 may be bf16
// (src/pipelines/bfloat16_matrices.hpp).
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "common/compilers.glsl"
#include "matrix/matrix_extensions.glsl"
#include "common/params.glsl"
#include "common/address.glsl"
#include "common/element.glsl"
#include "matrix/matrix_layout.glsl"

layout(constant_id = VKF_ID_KEY_TILES) const uint KEY_MATRICES = 1;

const uint SUBGROUPS = WORKGROUP_SIZE / LANES;
const uint DEPTH_SUBGROUPS = SUBGROUPS / KEY_MATRICES;
const uint TILE_ROWS = MATRIX_ROWS;
const uint TILE_KEYS = KEY_MATRICES * MATRIX_DEPTH;
const uint ROW_THREADS = TILE_KEYS / 2;
const uint DIM_TILES = VKF_WIDE_TILES(HEAD_DIM, MATRIX_DEPTH, DEPTH_SUBGROUPS); // of a subgroup
const uint VALUE_TILES = VKF_WIDE_TILES(VALUE_DIM, MATRIX_DEPTH, SUBGROUPS);
const uint MATRIX_FLOATS = MATRIX_ROWS * MATRIX_COLUMNS;
const uint MATRIX_FOURS = MATRIX_FLOATS / 4;

// In words of eight elements.
const uint SIDE_WORDS = MATRIX_DEPTH / 8;
const uint K_WORDS = HEAD_DIM / 8;
const uint V_WORDS = VALUE_DIM / 8;
const uint STAGE_ROW = VKF_WIDE_ROW_WORDS(HEAD_DIM, VALUE_DIM, MATRIX_DEPTH, DEPTH_SUBGROUPS, SUBGROUPS);
const uint K_FETCHES = (TILE_KEYS * K_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint V_FETCHES = (TILE_KEYS * V_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint STAGE_TILES = TILE_KEYS * STAGE_ROW / (SUBGROUPS * MATRIX_FOURS);          // of o, that there is room for
const uint STAGED_TILES = STAGE_TILES < VALUE_TILES ? STAGE_TILES : VALUE_TILES; // at once

shared uvec4 stage[TILE_KEYS * STAGE_ROW];         // q, then tiles of k, which become tiles of v, then o
shared float s_stage[SUBGROUPS * MATRIX_FLOATS];   // partial sums of scores
shared uint p_stage[TILE_ROWS * ROW_THREADS];      // pairs of probabilities
shared float factor_stage[MATRIX_FLOATS];          // of each row, in all columns
shared uint page_stage[PAGED ? TILE_KEYS : 1];     // of the keys that are fetched next

#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/keep.glsl"
#include "scores/final_score.glsl"
#include "scores/score_terms.glsl"
#include "scores/sink.glsl"
#include "scores/dropout.glsl"
#include "decode/decode_item.glsl"
#include "matrix/special_values.glsl"


Item item;
uint thread, subgroup;
uint row, pair; // of the tile, that this invocation has scores of
ivec2 visible;  // keys of this split that the row sees
uvec2 k_head, v_head;
uvec2 keys;     // of this split, in numbers that leave out the keys between the first ones and the window
ivec2 unseen;   // those keys
bool v_in_k;    // v is a view of k

uvec4 fetched[K_FETCHES];
uint fetched_page;
LeftMatrix q_tile[DIM_TILES];
ResultMatrix o_tile[VALUE_TILES];
float m = BEFORE_ANY_KEY;
float l = 0.0; // of this invocation's scores
float slope;   // of the row's head
RowDropout dropout; // of the row

bool isView() {
    bool same = params.k == params.v && params.row_stride[VKF_K] == params.row_stride[VKF_V];
    return same && params.head_stride[VKF_K] == params.head_stride[VKF_V] &&
           params.batch_stride[VKF_K] == params.batch_stride[VKF_V];
}

// Past the last key it is the last one again, so that nothing is read that must not be.
uint existingKey(const uint key) {
    return keyOfNumber(unseen, min(key, keys.y - 1));
}

void fetchPage(const uint key_begin) {
    if (PAGED) {
        fetched_page = pageOf(item.batch, existingKey(key_begin + thread % TILE_KEYS));
    }
}

void placePage() {
    if (PAGED && thread < TILE_KEYS) {
        page_stage[thread] = fetched_page;
    }
}

void fetchKeys(const uint key_begin) {
    UNROLL for (uint i = 0; i < K_FETCHES; i++) {
        uint place = i * WORKGROUP_SIZE + thread;
        uint of_tile = min(place / K_WORDS, TILE_KEYS - 1);
        uint page = PAGED ? page_stage[of_tile] : 0;
        uvec2 address = keyAddress(k_head, VKF_K, page, existingKey(key_begin + of_tile));
        fetched[i] = Word4(add64(address, uvec2(place % K_WORDS * 16, 0))).value;
    }
}

// Says to the compiler that nothing fetched is needed any more.
void forgetKeys() {
    FORGET(fetched, 0, K_FETCHES, uvec4(0))
}

void placeFetched(const uint rows) {
    UNROLL for (uint i = 0; i < K_FETCHES; i++) {
        uint place = i * WORKGROUP_SIZE + thread;
        if (place < rows * K_WORDS) {
            stage[place / K_WORDS * STAGE_ROW + place % K_WORDS] = fetched[i];
        }
    }
}

// Rows of q in the place of keys. Rows that do not exist are zeros.
void fetchQueries() {
    UNROLL for (uint i = 0; i < K_FETCHES; i++) {
        uint place = i * WORKGROUP_SIZE + thread;
        uint packed_row = item.row_begin + min(place / K_WORDS, TILE_ROWS - 1);
        uint existing = min(packed_row, packedRows(item) - 1);
        uvec2 head = headAddress(params.q, VKF_Q, item.batch, queryHead(item, existing), item.first_row);
        uvec2 address = rowAddress(head, VKF_Q, queryRow(existing));
        uvec4 word = Word4(add64(address, uvec2(place % K_WORDS * 16, 0))).value;
        fetched[i] = packed_row == existing ? word : uvec4(0);
    }
}

// Columns past the last are zeros, in q and in k.
void clearStage() {
    if (STAGE_ROW - 1 > K_WORDS) {
        KEEP_LOOP for (uint i = thread; i < TILE_KEYS * STAGE_ROW; i += WORKGROUP_SIZE) {
            stage[i] = uvec4(0);
        }
        barrier();
    }
}

// First word of this subgroup's depths.
uint firstDepth() {
    return subgroup % DEPTH_SUBGROUPS * DIM_TILES * SIDE_WORDS;
}

// q into registers, the first keys on their way.
void loadQueries() {
    fetchPage(keys.x);
    fetchQueries();
    clearStage();
    placePage();
    placeFetched(TILE_ROWS);
    barrier();
    fetchKeys(keys.x);
    fetchPage(keys.x + TILE_KEYS);
    UNROLL for (uint i = 0; i < DIM_TILES; i++) {
        coopMatLoad(q_tile[i], stage, firstDepth() + i * SIDE_WORDS, STAGE_ROW, gl_CooperativeMatrixLayoutRowMajor);
    }
}

// s = q k^T of the subgroup's depths, not scaled.
void computeProducts() {
    ResultMatrix s_tile = ResultMatrix(0.0);
    uint begin = subgroup / DEPTH_SUBGROUPS * MATRIX_COLUMNS * STAGE_ROW + firstDepth();
    UNROLL for (uint i = 0; i < DIM_TILES; i++) {
        RightMatrix k_tile;
        coopMatLoad(k_tile, stage, begin + i * SIDE_WORDS, STAGE_ROW, gl_CooperativeMatrixLayoutColumnMajor);
        s_tile = coopMatMulAdd(q_tile[i], k_tile, s_tile);
    }
    coopMatStore(s_tile, s_stage, subgroup * MATRIX_FLOATS, MATRIX_COLUMNS, gl_CooperativeMatrixLayoutRowMajor);
}

// Keys 2 pair and 2 pair + 1 of the tile.
vec2 pairOfScores(uint key_begin) {
    uint key = 2 * pair;
    uint begin = key / MATRIX_COLUMNS * DEPTH_SUBGROUPS * MATRIX_FLOATS + row * MATRIX_COLUMNS + key % MATRIX_COLUMNS;
    vec2 s = vec2(0.0);
    UNROLL for (uint i = 0; i < DEPTH_SUBGROUPS; i++) {
        s += vec2(s_stage[begin + i * MATRIX_FLOATS], s_stage[begin + i * MATRIX_FLOATS + 1]);
    }
    uint first = keyOfNumber(unseen, key_begin + key);
    uint second = keyOfNumber(unseen, key_begin + key + 1);
    bvec2 seen = bvec2(isVisible(visible, first), isVisible(visible, second));
    uint packed_row = item.row_begin + row;
    uint head = queryHead(item, packed_row);
    RowTerms terms = rowTerms(item, head, slope, queryRow(packed_row), first);
    s = vec2(withTerms(terms, 0, finalScore(s.x)), withTerms(terms, second - first, finalScore(s.y)));
    if (HAS_KEEP) {
        RowKeep keep = rowKeep(item, head, queryRow(packed_row));
        seen = bvec2(seen.x && keeps(keep, first), seen.y && keeps(keep, second));
    }
    return mix(vec2(MINUS_INFINITY), s, seen);
}

// To nearest. For bf16 not left to the conversion, which was seen to cut the lower bits off; ties go up.
uint roundPair(vec2 p) {
    uvec2 bits = floatBitsToUint(p) + 0x8000u;
    return MATRICES_ARE_BF16 ? bits.x >> 16 | (bits.y & 0xffff0000u) : packHalf2x16(p);
}

void placeFactor(const float factor) {
    KEEP_LOOP for (uint column = pair; column < MATRIX_COLUMNS; column += ROW_THREADS) {
        factor_stage[row * MATRIX_COLUMNS + column] = factor;
    }
}

// p = 2^(s - m), m in whole numbers, so that factors are powers of two. l takes p in before it is rounded.
void updateSoftmax(const uint key_begin) {
    vec2 s = pairOfScores(key_begin);
    float tile_maximum = max(s.x, s.y);
    for (uint distance = 1; distance < ROW_THREADS; distance *= 2) {
        tile_maximum = max(tile_maximum, subgroupShuffleXor(tile_maximum, distance));
    }
    float last = m;
    m = max(m, ceil(tile_maximum));
    vec2 p = exp2(s - m);
    l = l * exp2(last - m) + p.x + p.y;
    if (HAS_DROPOUT) {
        uint first = keyOfNumber(unseen, key_begin + 2 * pair);
        uint second = keyOfNumber(unseen, key_begin + 2 * pair + 1);
        p = mix(vec2(0.0), p, bvec2(staysIn(dropout, first), staysIn(dropout, second)));
    }
    p_stage[row * ROW_THREADS + pair] = roundPair(p);
    placeFactor(exp2(last - m));
}

// v in the place of k, where it is not k as it stands. `whole` says that every row sees all keys of the tile; else
// values of keys that do not exist, or that not every row sees, are made finite.
void placeValues(const uint key_begin, const bool full) {
    UNROLL for (uint i = 0; i < V_FETCHES; i++) {
        uint place = i * WORKGROUP_SIZE + thread;
        uint of_tile = min(place / V_WORDS, TILE_KEYS - 1);
        uint key = existingKey(key_begin + of_tile);
        uint at = of_tile * STAGE_ROW + place % V_WORDS;
        uvec4 word;
        if (v_in_k) {
            word = stage[at];
        } else {
            uvec2 address = keyAddress(v_head, VKF_V, pageOf(item.batch, key), key);
            word = Word4(add64(address, uvec2(place % V_WORDS * 16, 0))).value;
        }
        if (!full) {
            word = key_begin + of_tile < keys.y ? finiteHalves(word) : uvec4(0);
        }
        if (place < TILE_KEYS * V_WORDS) {
            stage[at] = word;
        }
    }
}

void scaleOutput() {
    ResultMatrix factors;
    coopMatLoad(factors, factor_stage, 0, MATRIX_COLUMNS, gl_CooperativeMatrixLayoutRowMajor);
    UNROLL for (uint i = 0; i < VALUE_TILES; i++) {
        o_tile[i] *= factors;
    }
}

// o += p v of the subgroup's columns.
void accumulateOutput() {
    scaleOutput();
    UNROLL for (uint depth = 0; depth < KEY_MATRICES; depth++) {
        LeftMatrix p_tile;
        coopMatLoad(p_tile, p_stage, depth * MATRIX_DEPTH / 2, ROW_THREADS, gl_CooperativeMatrixLayoutRowMajor);
        uint begin = depth * MATRIX_DEPTH * STAGE_ROW + subgroup * VALUE_TILES * SIDE_WORDS;
        UNROLL for (uint i = 0; i < VALUE_TILES; i++) {
            RightMatrix v_tile;
            coopMatLoad(v_tile, stage, begin + i * SIDE_WORDS, STAGE_ROW, gl_CooperativeMatrixLayoutRowMajor);
            o_tile[i] = coopMatMulAdd(p_tile, v_tile, o_tile[i]);
        }
    }
}

void attend() {
    ivec2 seen = commonKeys(item);
    uint end = keys.y;
    loadQueries();
    KEEP_LOOP for (uint begin = keys.x; begin < end; begin += TILE_KEYS) {
        bool full = !HAS_KEEP && int(begin) >= seen.x && int(begin + TILE_KEYS) <= min(seen.y, int(end));
        barrier(); // the readers of the last tile, or of q, are done
        placeFetched(TILE_KEYS);
        placePage();
        barrier();
        IF_KEEPING_LOADS_HERE(begin + TILE_KEYS < end) {
            fetchKeys(begin + TILE_KEYS);
            fetchPage(begin + 2 * TILE_KEYS);
        } else {
            forgetKeys();
        }
        computeProducts();
        barrier();
        updateSoftmax(begin);
        if (!v_in_k || !full) {
            placeValues(begin, full);
        }
        barrier();
        accumulateOutput();
    }
}

// Divides o by l and stores lse.
void finishRows() {
    for (uint distance = 1; distance < ROW_THREADS; distance *= 2) {
        l += subgroupShuffleXor(l, distance);
    }
    barrier(); // the readers of the factors are done
    uint packed_row = item.row_begin + row;
    float factor = l == 0.0 ? 0.0 : 1.0 / l;
    if (HAS_SINKS && ENDS_ROWS) {
        vec3 ended = withSink(queryHead(item, packed_row), m, l);
        factor = l == 0.0 ? 0.0 : ended.z / ended.y;
        m = ended.x;
        l = ended.y;
    }
    placeFactor(scaledByDropout(factor));
    if (HAS_LSE && pair == 0 && packed_row < packedRows(item)) {
        Item of_row = item;
        of_row.head = queryHead(item, packed_row);
        storeLse(of_row, queryRow(packed_row), m, l);
    }
    barrier();
    scaleOutput();
}

// Matrices first, ... of each subgroup: staged by all of them, then stored, four columns at a time.
void storeMatrices(const uint first) {
    UNROLL for (uint i = 0; i < STAGED_TILES; i++) {
        if (first + i < VALUE_TILES) {
            coopMatStore(o_tile[first + i], stage, (subgroup * STAGED_TILES + i) * MATRIX_FOURS, MATRIX_COLUMNS / 4,
                         gl_CooperativeMatrixLayoutRowMajor);
        }
    }
    barrier();
    const uint fours = MATRIX_COLUMNS / 4;
    bool special = special_values != 0u;
    KEEP_LOOP for (uint i = thread; i < SUBGROUPS * STAGED_TILES * MATRIX_FOURS; i += WORKGROUP_SIZE) {
        uint matrix = i / MATRIX_FOURS; // of those staged
        uint tile = first + matrix % STAGED_TILES;
        uint packed_row = item.row_begin + i / fours % MATRIX_ROWS;
        uint column = (matrix / STAGED_TILES * VALUE_TILES + tile) * MATRIX_COLUMNS + i % fours * 4;
        if (tile >= VALUE_TILES || packed_row >= packedRows(item) || column >= VALUE_DIM) {
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

// Matrices are named by constants: indexed by a variable they would live in memory. A tile of keys has room for half of
// them at least.
void storeOutput() {
    storeMatrices(0);
    if (VALUE_TILES > STAGED_TILES) {
        barrier(); // the readers of the stage are done
        storeMatrices(STAGED_TILES);
    }
    if (VALUE_TILES > 2 * STAGED_TILES) {
        barrier();
        storeMatrices(2 * STAGED_TILES);
    }
}

void main() {
    thread = threadIndex();
    subgroup = thread / LANES;
    row = thread / ROW_THREADS;
    pair = thread % ROW_THREADS;
    item = itemOf(params.first_item + gl_WorkGroupID.x);
    if (isIdle(item)) {
        return;
    }
    k_head = keyHeadAddress(params.k, VKF_K, item);
    v_head = keyHeadAddress(params.v, VKF_V, item);
    v_in_k = isView();
    unseen = unseenKeys(item);
    keys = splitKeys(item, TILE_KEYS);
    slope = slopeOf(queryHead(item, item.row_begin + row));
    dropout = rowDropout(item, queryHead(item, item.row_begin + row), queryRow(item.row_begin + row));
    visible = visibleKeys(item, queryRow(item.row_begin + row));
    visible.y = min(visible.y, int(keyOfNumber(unseen, keys.y)));
    if (thread == 0) {
        special_values = 0u;
    }
    UNROLL for (uint i = 0; i < VALUE_TILES; i++) {
        o_tile[i] = ResultMatrix(0.0);
    }
    if (keys.x < keys.y) {
        attend();
    }
    finishRows();
    storeOutput();
}
