// SPDX-License-Identifier: MIT
//
// dq from ds in scratch memory, on cooperative matrices: dq += scale ds k for the keys of one band
// (gradient/bands.glsl). This is line 15 of gradient_coopmat.comp, which stored ds.
//
// A workgroup owns TILE_ROWS query rows of a head, and walks over the keys of the band in steps of STEP_KEYS. A subgroup
// owns OWNED_TILES x MATRIX_ROWS rows. If the head dimension is large, DEPTH_SUBGROUPS subgroups own the same rows and
// divide the columns. A step in shared memory:
//
//     ds   STEP_KEYS rows of DS_WORDS words of 16 bytes: a row has one key, its columns are the query rows of the tile.
//          A left operand is loaded from it by columns.
//     k    STEP_KEYS rows of K_WORDS words
//
// The next step is on its way to registers while matrices multiply this one. Device memory limits the kernel: ds is read
// once, 2 bytes for each pair of a row and a key.
//
// Sums of earlier bands come from scratch memory in fp32, and go back there until the last band that some row of the
// tile sees. An infinite k or a NaN would make dq NaN for rows that do not see its key: then the kernel of dq that
// computes ds itself takes over (VKF_DQ_AGAIN).
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_vote : require

#define VKF_VOTES
#include "common/compilers.glsl"
#include "matrix/matrix_extensions.glsl"
#include "shared/gradient_params.h"
#define VKF_PUSH_CONSTANTS GradientParams
#define VKF_LANES_ID VKF_ID_SUBGROUP_LANES
#include "common/params.glsl"
#include "matrix/matrix_layout.glsl"

layout(constant_id = VKF_ID_OWNED_TILES) const uint OWNED_TILES = 1;
layout(constant_id = VKF_ID_VISITED_STEPS) const uint VISITED_STEPS = 1;
layout(constant_id = VKF_ID_DEPTH_SUBGROUPS) const uint DEPTH_SUBGROUPS = 1;
layout(constant_id = VKF_ID_WHOLE_WORDS) const bool WHOLE_WORDS = true;
layout(constant_id = VKF_ID_TYPE_DQ) const uint TYPE_DQ = VKF_STORED_F32;
layout(constant_id = VKF_ID_BAND_TILE_ROWS) const uint BAND_TILE_ROWS = 1;
layout(constant_id = VKF_ID_BAND_TILE_KEYS) const uint BAND_TILE_KEYS = 1;

const uint SUBGROUPS = WORKGROUP_SIZE / LANES;
const uint SUBGROUP_ROWS = OWNED_TILES * MATRIX_ROWS;
const uint TILE_ROWS = SUBGROUPS / DEPTH_SUBGROUPS * SUBGROUP_ROWS;
const uint COLUMN_TILES = VKF_GRADIENT_SHARE(HEAD_DIM, MATRIX_COLUMNS, DEPTH_SUBGROUPS); // of a subgroup
const uint COLUMNS = DEPTH_SUBGROUPS * COLUMN_TILES * MATRIX_COLUMNS;
const uint STEP_KEYS = VISITED_STEPS * MATRIX_DEPTH;

#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "matrix/half_rows.glsl"
#include "gradient/gradient_table.glsl"
#include "gradient/bands.glsl"

const uint BAND_KEYS = BAND_TILES * BAND_TILE_KEYS;
const uint DS_WORDS = TILE_ROWS / 8;
const uint K_WORDS = (HEAD_DIM + 7) / 8;
// Words from row to row in shared memory. The padding puts neighbouring rows into different banks.
const uint DS_ROW = DS_WORDS + 1;
const uint K_ROW = VKF_GRADIENT_MATRIX_ROW_WORDS(HEAD_DIM, MATRIX_COLUMNS, DEPTH_SUBGROUPS);
const uint K_STAGE = STEP_KEYS * DS_ROW;
const uint MATRIX_WORDS = MATRIX_ROWS * MATRIX_COLUMNS / 4; // words of a matrix in fp32

const uint DS_FETCHES = (STEP_KEYS * DS_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint K_FETCHES = (STEP_KEYS * K_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;

shared uvec4 stage[VKF_MAX_WORDS(VKF_DQ_STEP_WORDS(STEP_KEYS, TILE_ROWS, K_ROW), SUBGROUPS * MATRIX_WORDS)];

uvec4 fetched_ds[DS_FETCHES];
uvec4 fetched_k[K_FETCHES];
ResultMatrix sum_tile[OWNED_TILES * COLUMN_TILES];

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Sums {
    uvec4 word[];
};

uint thread, subgroup;
Item item;
uint band_head; // number of the query head among those of the pass
uint band_begin;
uint band_end;
bool special_keys; // the invocation has seen infinity or NaN in k

// Work items of a pass count query heads fastest, then tiles of rows from the last one to the first: under a causal mask
// the last rows see most keys. Returns the number of the band.
uint beginItem(const uint number) {
    uint heads = BAND_HEADS * KV_HEAD_QUERY_HEADS;
    uint row_tiles = (params.query_rows + TILE_ROWS - 1) / TILE_ROWS;
    Band band = bandOf(number, heads * row_tiles, (params.keys + BAND_TILE_KEYS - 1) / BAND_TILE_KEYS);
    band_head = band.rest % heads;
    uint kv_head = band.first_head + band_head / KV_HEAD_QUERY_HEADS;
    uint kv_heads = VKF_GRADIENT_TABLE.kv_heads;
    item = itemOfSequence(kv_head / kv_heads);
    item.kv_head = kv_head % kv_heads;
    item.head = item.kv_head * KV_HEAD_QUERY_HEADS + band_head % KV_HEAD_QUERY_HEADS;
    item.row_begin = (row_tiles - 1 - band.rest / heads) * TILE_ROWS;
    band_begin = band.number * BAND_KEYS;
    band_end = band_begin + BAND_KEYS;
    return band.number;
}

// Eight rows of ds of a key; zeros where the pass stored none.
uvec4 dsWord(const uint key, const uint word) {
    uint tile = key / BAND_TILE_KEYS * BAND_TILE_KEYS;
    uvec2 seeing = rowsThatSee(item, tile, tile + BAND_TILE_KEYS);
    uint row = item.row_begin + word * 8;
    bool stored = key < band_end && row >= seeing.x / BAND_TILE_ROWS * BAND_TILE_ROWS &&
                  row < (seeing.y + BAND_TILE_ROWS - 1) / BAND_TILE_ROWS * BAND_TILE_ROWS;
    uint place = band_head * BAND_KEYS + min(key, band_end - 1) - band_begin;
    uvec4 ds = Words(VKF_GRADIENT_TABLE.ds).word[place * (VKF_DS_ROWS(params.query_rows) / 8) + row / 8];
    return stored ? ds : uvec4(0);
}

void fetchStep(const HalfRows k, const uint key_begin) {
    UNROLL for (uint i = 0; i < DS_FETCHES; i++) {
        uint place = min(i * WORKGROUP_SIZE + thread, STEP_KEYS * DS_WORDS - 1);
        fetched_ds[i] = dsWord(key_begin + place / DS_WORDS, place % DS_WORDS);
    }
    UNROLL for (uint i = 0; i < K_FETCHES; i++) {
        uint place = min(i * WORKGROUP_SIZE + thread, STEP_KEYS * K_WORDS - 1);
        fetched_k[i] = wordOrZero(k, key_begin + place / K_WORDS, place % K_WORDS * 8, HEAD_DIM, WHOLE_WORDS);
    }
}

void forgetStep() {
    FORGET(fetched_ds, 0, DS_FETCHES, uvec4(0))
    FORGET(fetched_k, 0, K_FETCHES, uvec4(0))
}

// Whether an element of the word is infinite or NaN. Adding one to an exponent of all ones carries into the sign.
bool isSpecial(const uvec4 word) {
    const uint exponents = MATRICES_ARE_BF16 ? 0x7f807f80u : 0x7c007c00u;
    const uint lowest = MATRICES_ARE_BF16 ? 0x00800080u : 0x04000400u;
    uvec4 carried = (word & exponents) + lowest;
    return ((carried.x | carried.y | carried.z | carried.w) & 0x80008000u) != 0;
}

void placeStep() {
    UNROLL for (uint i = 0; i < DS_FETCHES; i++) {
        uint place = i * WORKGROUP_SIZE + thread;
        if (STEP_KEYS * DS_WORDS % WORKGROUP_SIZE == 0 || place < STEP_KEYS * DS_WORDS) {
            stage[place / DS_WORDS * DS_ROW + place % DS_WORDS] = fetched_ds[i];
        }
    }
    UNROLL for (uint i = 0; i < K_FETCHES; i++) {
        uint place = i * WORKGROUP_SIZE + thread;
        if (STEP_KEYS * K_WORDS % WORKGROUP_SIZE == 0 || place < STEP_KEYS * K_WORDS) {
            special_keys = special_keys || isSpecial(fetched_k[i]);
            stage[K_STAGE + place / K_WORDS * K_ROW + place % K_WORDS] = fetched_k[i];
        }
    }
}

// The first row of the subgroup in its tile, and its first column.
uint subgroupRow() {
    return subgroup / DEPTH_SUBGROUPS * SUBGROUP_ROWS;
}

uint subgroupColumn() {
    return subgroup % DEPTH_SUBGROUPS * COLUMN_TILES * MATRIX_COLUMNS;
}

void multiplyStep() {
    UNROLL for (uint d = 0; d < VISITED_STEPS; d++) {
        LeftMatrix ds_tile[OWNED_TILES];
        UNROLL for (uint r = 0; r < OWNED_TILES; r++) {
            coopMatLoad(ds_tile[r], stage, d * MATRIX_DEPTH * DS_ROW + (subgroupRow() + r * MATRIX_ROWS) / 8, DS_ROW,
                        gl_CooperativeMatrixLayoutColumnMajor);
        }
        UNROLL for (uint c = 0; c < COLUMN_TILES; c++) {
            RightMatrix k_tile;
            coopMatLoad(k_tile, stage, K_STAGE + d * MATRIX_DEPTH * K_ROW + (subgroupColumn() + c * MATRIX_COLUMNS) / 8,
                        K_ROW, gl_CooperativeMatrixLayoutRowMajor);
            UNROLL for (uint r = 0; r < OWNED_TILES; r++) {
                sum_tile[r * COLUMN_TILES + c] =
                    coopMatMulAdd(ds_tile[r], k_tile, sum_tile[r * COLUMN_TILES + c]);
            }
        }
    }
}

// Adds ds k of keys [begin, end) of the band to the sums.
void addKeys(const uint begin, const uint end) {
    HalfRows k = halfRowsOf(params.k, VKF_K, item, item.keys);
    uint key_begin = band_begin + (begin - band_begin) / STEP_KEYS * STEP_KEYS;
    fetchStep(k, key_begin);
    KEEP_LOOP for (; UNIFORM_BY_VOTE(key_begin < end); key_begin += STEP_KEYS) {
        placeStep();
        barrier();
        IF_KEEPING_LOADS_HERE(key_begin + STEP_KEYS < end) {
            fetchStep(k, key_begin + STEP_KEYS);
        } else {
            forgetStep();
        }
        multiplyStep();
        barrier(); // the readers of the step are done
    }
}

// The sums of the workgroup's tile over earlier bands: rows of COLUMNS numbers.
Sums earlierSums() {
    uint row_tiles = (params.query_rows + TILE_ROWS - 1) / TILE_ROWS;
    uint tile = band_head * row_tiles + item.row_begin / TILE_ROWS;
    return Sums(add64(VKF_GRADIENT_TABLE.dq_sums, multiply64(tile, TILE_ROWS * COLUMNS * 4)));
}

uint wordOfSum(const uint r, const uint c) {
    return ((subgroupRow() + r * MATRIX_ROWS) * COLUMNS + subgroupColumn() + c * MATRIX_COLUMNS) / 4;
}

void beginSums(const bool first) {
    UNROLL for (uint i = 0; i < OWNED_TILES * COLUMN_TILES; i++) {
        sum_tile[i] = ResultMatrix(0.0);
    }
    if (!first) {
        Sums sums = earlierSums();
        UNROLL for (uint i = 0; i < OWNED_TILES * COLUMN_TILES; i++) {
            coopMatLoad(sum_tile[i], sums.word, wordOfSum(i / COLUMN_TILES, i % COLUMN_TILES), COLUMNS / 4,
                        gl_CooperativeMatrixLayoutRowMajor);
        }
    }
}

void keepSums() {
    Sums sums = earlierSums();
    UNROLL for (uint i = 0; i < OWNED_TILES * COLUMN_TILES; i++) {
        coopMatStore(sum_tile[i], sums.word, wordOfSum(i / COLUMN_TILES, i % COLUMN_TILES), COLUMNS / 4,
                     gl_CooperativeMatrixLayoutRowMajor);
    }
}

// Stores the matrix that lies in the subgroup's part of the stage as dq, without rows and columns that do not exist.
void storeStaged(const uint first_row, const uint first_column, const uint begin) {
    KEEP_LOOP for (uint place = thread % LANES; place < MATRIX_WORDS; place += LANES) {
        uint row = first_row + place / (MATRIX_COLUMNS / 4);
        uint column = first_column + place % (MATRIX_COLUMNS / 4) * 4;
        if (row < params.query_rows && column < HEAD_DIM) {
            uvec2 address = gradientRow(VKF_GRADIENT_TABLE.dq, item.partial_result, item.head, row);
            storeRow4(address, column, HEAD_DIM, TYPE_DQ, isAligned4(address, 0, TYPE_DQ),
                      uintBitsToFloat(stage[begin + place]) * VKF_GRADIENT_TABLE.scale);
        }
    }
}

// The loops are those of standard_output_coopmat.comp, for its reasons.
void storeSums() {
    uint begin = subgroup * MATRIX_WORDS;
    KEEP_LOOP for (uint matrix = 0; matrix < OWNED_TILES * COLUMN_TILES; matrix++) {
        UNROLL for (uint i = 0; i < OWNED_TILES * COLUMN_TILES; i++) {
            if (i == matrix) {
                coopMatStore(sum_tile[i], stage, begin, MATRIX_COLUMNS / 4, gl_CooperativeMatrixLayoutRowMajor);
            }
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        storeStaged(item.row_begin + subgroupRow() + matrix / COLUMN_TILES * MATRIX_ROWS,
                    subgroupColumn() + matrix % COLUMN_TILES * MATRIX_COLUMNS, begin);
        subgroupBarrier();
    }
}

void main() {
    thread = threadIndex();
    subgroup = thread / LANES;
    uint band = beginItem(params.first_item + gl_WorkGroupID.x);
    uvec2 seen = uvec2(max(tileMask(item).any, ivec2(0))); // keys that some row of the tile may see
    bool sees = seen.x < seen.y;
    uint first = sees ? seen.x / BAND_KEYS : 0;
    uint last = sees ? (seen.y - 1) / BAND_KEYS : 0;
    if (UNIFORM_BY_VOTE(band < first || band > last)) {
        return;
    }
    special_keys = false;
    beginSums(UNIFORM_BY_VOTE(band == first));
    if (UNIFORM_BY_VOTE(sees)) {
        addKeys(max(seen.x, band_begin), min(seen.y, band_end));
    }
    if (special_keys) {
        VKF_DQ_AGAIN = 1;
    }
    if (UNIFORM_BY_VOTE(band == last)) {
        storeSums();
    } else {
        keepSums();
    }
}
