// SPDX-License-Identifier: MIT
//
// Sums from p and ds in scratch memory, on cooperative matrices. backward_coopmat.comp stored them for one band of keys
// (backward/bands.glsl). These are its lines 12, 15 and 16:
//
//     a workgroup that owns query rows of a head       dq += scale ds k        over the keys of the band
//     a workgroup that owns keys of a KV head          dk = scale ds^T q       over the rows of its query heads
//                                                      dv = p^T dout
//
// A workgroup owns OWNED rows or keys, and visits the others in steps of STEP. A subgroup owns OWNED_MATRICES x
// MATRIX_ROWS of them. If the dimension is large, DEPTH_SUBGROUPS subgroups own the same ones and divide the columns. A
// step in shared memory:
//
//     pairs     if rows are owned: ds of STEP keys. A row of it has one key, its columns are query rows, and
//               left operands come from it by columns. If keys are owned, pairs go from device memory to left operands.
//     visited   STEP rows of k, q or dout
//
// The next two steps are in flight to registers while matrices multiply this one.
//
// Sums of dq over earlier bands come from scratch memory in fp32. They go back there until the last band that some row
// of the tile sees. Infinity and NaN in k, q or dout make sums infinite or NaN even where p and ds are 0, and so does a
// ds past the largest fp16. Then the kernels that keep p and ds to themselves take over (VKF_WANTS_FALLBACK).
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

#define VKF_VOTES
#include "common/compilers.glsl"
#include "shared/backward_params.h"
#define VKF_PUSH_CONSTANTS BackwardParams
#define VKF_LANES_ID VKF_ID_SUBGROUP_LANES
#include "common/params.glsl"
#include "matrix/matrix_layout.glsl"

// The tile: what a workgroup owns and sums up, and which subgroup has which part.
layout(constant_id = VKF_ID_OWNER) const uint OWNER = VKF_OWNS_ROWS;
layout(constant_id = VKF_ID_WRITES_DV) const bool WRITES_DV = false; // a workgroup that owns keys: dv, else dk
layout(constant_id = VKF_ID_OWNED_MATRICES) const uint OWNED_MATRICES = 1;
layout(constant_id = VKF_ID_VISITED_STEPS) const uint VISITED_STEPS = 1;
layout(constant_id = VKF_ID_DEPTH_SUBGROUPS) const uint DEPTH_SUBGROUPS = 1;
layout(constant_id = VKF_ID_WHOLE_WORDS) const bool WHOLE_WORDS = true;
layout(constant_id = VKF_ID_TYPE_DOUT) const uint TYPE_DOUT = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_DQ) const uint TYPE_DQ = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_DK) const uint TYPE_DK = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_DV) const uint TYPE_DV = VKF_STORED_F32;
layout(constant_id = VKF_ID_PAIRS_BY_LANE) const bool PAIRS_BY_LANE = false;
layout(constant_id = VKF_ID_BAND_TILE_ROWS) const uint BAND_TILE_ROWS = 1;
layout(constant_id = VKF_ID_BAND_TILE_KEYS) const uint BAND_TILE_KEYS = 1;

const bool OWNS_KEYS = OWNER == VKF_OWNS_KEYS;
const uint SUMS_DIM = OWNS_KEYS && WRITES_DV ? VALUE_DIM : HEAD_DIM;
const uint TYPE_VISITED = !OWNS_KEYS ? TYPE_K : WRITES_DV ? TYPE_DOUT : TYPE_Q;
const uint TYPE_SUMS = !OWNS_KEYS ? TYPE_DQ : WRITES_DV ? TYPE_DV : TYPE_DK;
const uint VISITED_TENSOR = !OWNS_KEYS ? VKF_K : WRITES_DV ? VKF_DOUT : VKF_Q;

const uint SUBGROUPS = WORKGROUP_SIZE / LANES;
const uint SUBGROUP_OWNED = OWNED_MATRICES * MATRIX_ROWS;
const uint OWNED = SUBGROUPS / DEPTH_SUBGROUPS * SUBGROUP_OWNED;
const uint COLUMN_MATRICES = VKF_BACKWARD_SHARE(SUMS_DIM, MATRIX_COLUMNS, DEPTH_SUBGROUPS); // of a subgroup
const uint COLUMNS = DEPTH_SUBGROUPS * COLUMN_MATRICES * MATRIX_COLUMNS;
const uint STEP = VISITED_STEPS * MATRIX_DEPTH;
const uint TILE_ROWS = OWNS_KEYS ? STEP : OWNED;

#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "scores/dropout.glsl"
#include "matrix/half_rows.glsl"
#include "matrix/query_words.glsl"
#include "backward/backward_table.glsl"
#include "backward/bands.glsl"
#define STORED_TILE_ROWS BAND_TILE_ROWS
#define STORED_TILE_KEYS BAND_TILE_KEYS
#include "backward_coopmat/stored_matrices.glsl"

const uint BAND_KEYS = BAND_TILES * BAND_TILE_KEYS;
const uint VISITED_WORDS = (SUMS_DIM + 7) / 8; // in a row
// Words from row to row in shared memory. The padding puts neighbouring rows into different banks.
const uint PAIR_ROW = OWNED / 8 + 1;
const uint VISITED_ROW = VKF_BACKWARD_MATRIX_ROW_WORDS(SUMS_DIM, MATRIX_COLUMNS, DEPTH_SUBGROUPS);
const uint VISITED_STAGE = OWNS_KEYS ? 0 : STEP * PAIR_ROW;
const uint STAGE_WORDS = VKF_SUMS_STEP_WORDS(OWNS_KEYS, OWNED, STEP, VISITED_ROW);
const uint MATRIX_WORDS = MATRIX_ROWS * MATRIX_COLUMNS / 4; // words of a matrix in fp32
const uint STORED_MATRICES = VKF_SUMS_STORED_MATRICES;      // at once, by a subgroup
const uint SUMS = OWNED_MATRICES * COLUMN_MATRICES;

const uint PAIR_MATRICES =
    OWNS_KEYS ? OWNED_MATRICES * VISITED_STEPS : (VISITED_STEPS * (OWNED / MATRIX_DEPTH) + SUBGROUPS - 1) / SUBGROUPS;
const uint VISITED_WORD_COUNT = STEP * VISITED_WORDS;
const uint VISITED_FETCHES = (VISITED_WORD_COUNT + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;

shared uvec4 stage[VKF_MAX_WORDS(STAGE_WORDS, SUBGROUPS * STORED_MATRICES * MATRIX_WORDS)];

// Steps in flight: an even one and an odd one.
uvec4 even_pairs[PAIR_MATRICES * LANE_WORDS];
uvec4 even_visited[VISITED_FETCHES];
uvec4 odd_pairs[PAIR_MATRICES * LANE_WORDS];
uvec4 odd_visited[VISITED_FETCHES];
uvec2 even_rows, odd_rows; // rows that were stored for the keys of the step
LeftMatrix pair_matrix[OWNED_MATRICES * VISITED_STEPS];
ResultMatrix sum_matrix[SUMS];

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Sums {
    uvec4 word[];
};

uint thread, subgroup;
Item item;           // with the first query head that the workgroup takes
uint band_head;      // number of this head among the query heads of the pass
uint band_begin;     // first key of the band
uint band_end;       // one past its last key
uint owned_begin;    // first owned row or key
HalfRows visited;    // of the first head
uvec2 pairs_address; // ds or p of the pass

// Work items of a round count heads fastest, then owned tiles: of keys from the first one on, of rows from the last one
// back, because under a causal mask these have most to do. Returns the number of the band.
uint beginItem(const uint number) {
    uint kv_heads = VKF_BACKWARD_TABLE.kv_heads;
    uint heads = OWNS_KEYS ? BAND_HEADS : BAND_HEADS * KV_HEAD_QUERY_HEADS;
    uint tiles = VKF_TILES(OWNS_KEYS ? BAND_KEYS : params.query_rows, OWNED);
    Band band = bandOf(number, heads * tiles, VKF_TILES(params.keys, BAND_TILE_KEYS));
    uint head = band.rest % heads;
    uint tile = band.rest / heads;
    band_begin = band.number * BAND_KEYS;
    band_end = band_begin + BAND_KEYS;
    band_head = OWNS_KEYS ? head * KV_HEAD_QUERY_HEADS : head;
    uint kv_head = band.first_head + band_head / KV_HEAD_QUERY_HEADS;
    item = itemOfSequence(kv_head / kv_heads);
    item.kv_head = kv_head % kv_heads;
    item.head = item.kv_head * KV_HEAD_QUERY_HEADS + band_head % KV_HEAD_QUERY_HEADS;
    owned_begin = OWNS_KEYS ? band_begin + tile * OWNED : (tiles - 1 - tile) * OWNED;
    item.row_begin = OWNS_KEYS ? 0 : owned_begin;
    pairs_address = OWNS_KEYS && WRITES_DV ? VKF_BACKWARD_TABLE.p : VKF_BACKWARD_TABLE.ds;
    uint count = OWNS_KEYS ? SEQUENCE_ROWS(item) : item.keys;
    visited = halfRowsOf(!OWNS_KEYS ? params.k : WRITES_DV ? params.dout : params.q, VISITED_TENSOR, item, count);
    return band.number;
}

// The first owned row or key of the subgroup in its tile, and its first column.
uint subgroupOwned() {
    return subgroup / DEPTH_SUBGROUPS * SUBGROUP_OWNED;
}

uint subgroupColumn() {
    return subgroup % DEPTH_SUBGROUPS * COLUMN_MATRICES * MATRIX_COLUMNS;
}

#define TILE_KEYS (OWNS_KEYS ? OWNED : STEP)
#ifdef VKF_TILE_LISTS
#include "backward_coopmat/listed_steps.glsl"
#else
#include "backward/without_lists.glsl"
#endif
#include "backward_coopmat/sums_stage.glsl"

// The operands of a step. If rows are owned, they come from shared memory, where they turn from matrices of keys and
// rows into matrices of rows and keys.
#define VKF_TAKE_PAIRS(pairs, tile_rows, head, begin, exists)                                                          \
    UNROLL for (uint d = 0; d < VISITED_STEPS; d++) {                                                                  \
        UNROLL for (uint r = 0; r < OWNED_MATRICES; r++) {                                                             \
            const uint i = d * OWNED_MATRICES + r;                                                                     \
            uint owned = subgroupOwned() + r * MATRIX_ROWS;                                                            \
            uint visited_index = (begin) + d * MATRIX_DEPTH;                                                           \
            if (!PAIRS_BY_LANE) {                                                                                      \
                uint key = OWNS_KEYS ? owned_begin + owned : visited_index;                                            \
                uint row = OWNS_KEYS ? visited_index : owned_begin + owned;                                            \
                VKF_LOAD_STORED(pair_matrix[i], head, begin, key, row, exists)                                         \
            } else if (OWNS_KEYS) {                                                                                    \
                VKF_TAKE_WORDS(pair_matrix[i], pairs, tile_rows, i, begin)                                             \
            } else {                                                                                                   \
                coopMatLoad(pair_matrix[i], stage, d * MATRIX_DEPTH * PAIR_ROW + owned / 8, PAIR_ROW,                  \
                            gl_CooperativeMatrixLayoutColumnMajor);                                                    \
            }                                                                                                          \
        }                                                                                                              \
    }

void multiplyStep() {
    uint begin = VISITED_STAGE + subgroupColumn() / 8;
    UNROLL for (uint d = 0; d < VISITED_STEPS; d++) {
        UNROLL for (uint c = 0; c < COLUMN_MATRICES; c++) {
            RightMatrix factors;
            coopMatLoad(factors, stage, begin + d * MATRIX_DEPTH * VISITED_ROW + c * MATRIX_COLUMNS / 8, VISITED_ROW,
                        gl_CooperativeMatrixLayoutRowMajor);
            UNROLL for (uint r = 0; r < OWNED_MATRICES; r++) {
                sum_matrix[r * COLUMN_MATRICES + c] =
                    coopMatMulAdd(pair_matrix[d * OWNED_MATRICES + r], factors, sum_matrix[r * COLUMN_MATRICES + c]);
            }
        }
    }
}

// Fetches step `number` of [0, count), if there is one. With a map of tiles, it fetches the next step with a seen pair
// instead, and sets `step` to the number of that step.
#define VKF_FETCH(pairs, words, tile_rows, number, step)                                                               \
    SEEK_STEP(step)                                                                                                    \
    IF_KEEPING_LOADS_HERE (STEP_NUMBER(number, step) < count) {                                                        \
        uint fetched_head = OWNS_KEYS ? STEP_NUMBER(number, step) / steps : 0;                                         \
        VKF_FETCH_STEP(pairs, words, tile_rows, fetched_head,                                                          \
                       begin + (STEP_NUMBER(number, step) - fetched_head * steps) * STEP)                              \
    } else {                                                                                                           \
        VKF_FORGET_STEP(pairs, words)                                                                                  \
    }

// Adds the products of step `number`, and fetches the one after the next.
#define VKF_ADD_STEP(pairs, words, tile_rows, number, step)                                                            \
    {                                                                                                                  \
        uint present = min(STEP_NUMBER(number, step), count - 1);                                                      \
        uint head = OWNS_KEYS ? present / steps : 0;                                                                   \
        uint first = begin + (present - head * steps) * STEP;                                                          \
        VKF_STAGE_STEP(pairs, words, tile_rows, first)                                                                 \
        barrier();                                                                                                     \
        VKF_TAKE_PAIRS(pairs, tile_rows, head, first, present == STEP_NUMBER(number, step))                            \
        VKF_FETCH(pairs, words, tile_rows, ((number) + 2), step)                                                       \
        multiplyStep();                                                                                                \
        barrier(); /* the readers of the step are done */                                                              \
    }

// Adds the products with visited rows or keys [begin, end) of `heads` heads. The steps of all heads are one loop: sums
// that pass through two loops cost NVIDIA's compiler a move of each sum in every step. If the number of steps is odd,
// the last one has zeros.
void addVisited(const uint begin, const uint end, const uint heads) {
    uint steps = (end - begin + STEP - 1) / STEP; // of a head
    uint count = heads * steps;
    uint next_step, even_step, odd_step; // only for lists (backward_coopmat/listed_steps.glsl)
    beginFetches();
    BEGIN_STEPS
    VKF_FETCH(even_pairs, even_visited, even_rows, 0, even_step)
    VKF_FETCH(odd_pairs, odd_visited, odd_rows, 1, odd_step)
    KEEP_LOOP for (uint even = 0; UNIFORM_BY_VOTE(STEP_NUMBER(even, even_step) < count); even += 2) {
        VKF_ADD_STEP(even_pairs, even_visited, even_rows, even, even_step)
        VKF_ADD_STEP(odd_pairs, odd_visited, odd_rows, (even + 1), odd_step)
    }
}

// The sums of the workgroup's rows over earlier bands: rows of COLUMNS numbers.
Sums earlierSums() {
    uint row_tiles = VKF_TILES(params.query_rows, OWNED);
    uint tile = band_head * row_tiles + owned_begin / OWNED;
    return Sums(add64(VKF_BACKWARD_TABLE.dq_sums, multiply64(tile, OWNED * COLUMNS * 4)));
}

uint wordOfSum(const uint r, const uint c) {
    return ((subgroupOwned() + r * MATRIX_ROWS) * COLUMNS + subgroupColumn() + c * MATRIX_COLUMNS) / 4;
}

void beginSums(const bool first) {
    UNROLL for (uint i = 0; i < SUMS; i++) {
        sum_matrix[i] = ResultMatrix(0.0);
    }
    if (!OWNS_KEYS && !first) {
        Sums sums = earlierSums();
        UNROLL for (uint i = 0; i < SUMS; i++) {
            coopMatLoad(sum_matrix[i], sums.word, wordOfSum(i / COLUMN_MATRICES, i % COLUMN_MATRICES), COLUMNS / 4,
                        gl_CooperativeMatrixLayoutRowMajor);
        }
    }
}

void keepSums() {
    Sums sums = earlierSums();
    UNROLL for (uint i = 0; i < SUMS; i++) {
        coopMatStore(sum_matrix[i], sums.word, wordOfSum(i / COLUMN_MATRICES, i % COLUMN_MATRICES), COLUMNS / 4,
                     gl_CooperativeMatrixLayoutRowMajor);
    }
}

// The rows of the item's gradient.
BackwardRows writtenRows() {
    if (!OWNS_KEYS) {
        return backwardRows(VKF_BACKWARD_TABLE.dq, item.partial_result, item.head, 0);
    }
    if (WRITES_DV) {
        return backwardRows(VKF_BACKWARD_TABLE.dv, item.partial_result, item.kv_head, 0);
    }
    return backwardRows(VKF_BACKWARD_TABLE.dk, item.partial_result, item.kv_head, 0);
}

// Stores four columns of an owned row or key.
void storeSum(const BackwardRows rows, const uint owned, const uint column, const vec4 sum) {
    if (any(greaterThanEqual(floatBitsToUint(sum) & 0x7fffffffu, uvec4(0x7f800000u)))) {
        VKF_SET_BUFFER_FLAG(VKF_WANTS_FALLBACK, 1u);
    }
    uvec2 address = backwardRow(rows, owned);
    storeRow4(address, column, SUMS_DIM, TYPE_SUMS, isAligned4(address, 0, TYPE_SUMS), sum);
}

// The loops are those of standard_output_coopmat.comp, for its reasons.
void storeSums() {
    uint begin = subgroup * STORED_MATRICES * MATRIX_WORDS;
    uint end = OWNS_KEYS ? min(band_end, params.keys) : params.query_rows;
    BackwardRows rows = writtenRows();
    float factor = OWNS_KEYS && WRITES_DV ? scaledByDropout(1.0) : VKF_BACKWARD_TABLE.scale;
    KEEP_LOOP for (uint first = 0; first < SUMS; first += STORED_MATRICES) {
        UNROLL for (uint i = 0; i < SUMS; i++) {
            if (i / STORED_MATRICES == first / STORED_MATRICES) {
                coopMatStore(sum_matrix[i], stage, begin + i % STORED_MATRICES * MATRIX_WORDS, MATRIX_COLUMNS / 4,
                             gl_CooperativeMatrixLayoutRowMajor);
            }
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        UNROLL for (uint i = 0; i < STORED_MATRICES * MATRIX_WORDS / LANES; i++) {
            uint index = i * LANES + thread % LANES;
            uint matrix = first + index / MATRIX_WORDS;
            uint owned = owned_begin + subgroupOwned() + matrix / COLUMN_MATRICES * MATRIX_ROWS +
                         index % MATRIX_WORDS / (MATRIX_COLUMNS / 4);
            uint column =
                subgroupColumn() + matrix % COLUMN_MATRICES * MATRIX_COLUMNS + index % (MATRIX_COLUMNS / 4) * 4;
            if (matrix < SUMS && owned < end && column < SUMS_DIM) {
                storeSum(rows, owned, column, uintBitsToFloat(stage[begin + index]) * factor);
            }
        }
        subgroupBarrier();
    }
}

// dq of a tile of rows: bands [first, last] have keys that some row of the tile may see.
void sumOverKeys(const uint band) {
    uvec2 seen = uvec2(max(tileMask(item).any, ivec2(0)));
    bool sees = seen.x < seen.y;
    uint first = sees ? seen.x / BAND_KEYS : 0;
    uint last = sees ? (seen.y - 1) / BAND_KEYS : 0;
    if (UNIFORM_BY_VOTE(band < first || band > last)) {
        return;
    }
    beginSums(UNIFORM_BY_VOTE(band == first));
    if (UNIFORM_BY_VOTE(sees)) {
        uint begin = max(seen.x, band_begin);
        addVisited(begin - (begin - band_begin) % STEP, min(seen.y, band_end), 1);
    }
    if (UNIFORM_BY_VOTE(band == last)) {
        storeSums();
    } else {
        keepSums();
    }
}

// dk or dv of a tile of keys, which lie in one band.
void sumOverRows() {
    if (UNIFORM_BY_VOTE(owned_begin >= min(band_end, params.keys))) {
        return;
    }
    uvec2 seeing = rowsThatSee(item, owned_begin, min(owned_begin + OWNED, band_end));
    beginSums(true);
    if (UNIFORM_BY_VOTE(seeing.x < seeing.y)) {
        addVisited(seeing.x / STEP * STEP, seeing.y, KV_HEAD_QUERY_HEADS);
    }
    storeSums();
}

void main() {
    thread = threadIndex();
    subgroup = thread / LANES;
    uint band = beginItem(params.first_item + gl_WorkGroupID.x);
    if (OWNS_KEYS) {
        sumOverRows();
    } else {
        sumOverKeys(band);
    }
}
