// SPDX-License-Identifier: MIT
//
// All mutable state of the cooperative-matrix kernel, and its shared memory. A subgroup owns ROW_MATRICES x MATRIX_ROWS
// rows. An invocation has elements of OWN_ROWS of them (matrix/matrix_tile.glsl).
//
// Four includes keep state of their own:
//   - masks/tile_map.glsl: map_row, map_first, cached_map, cached_left, cached_unmasked
//   - masks/block_mask.glsl: mask_head, ..., cached_block_word, cached_block_bits
//   - cache/paging.glsl: block_table
//   - matrix/special_values.glsl: special_values, in shared memory
#ifndef VKF_COOPMAT_GLOBALS_GLSL
#define VKF_COOPMAT_GLOBALS_GLSL

#include "cache/absent_pages.glsl"
#include "common/chosen_keys.glsl"

// A score that exceeds m_row by more than this raises m_row. So no probability exceeds 2^RESCALE_THRESHOLD, far below
// the largest fp16.
#define RESCALE_THRESHOLD 8.0
float rescaleThreshold() {
    return RESCALE_THRESHOLD * oneInBase2();
}

// The position of the invocation, and what it works on. main sets these variables once.
Item item;
HalfRows q, k, v;                                // q of the item's head; k and v of its KV head
uint thread;                                     // number in the workgroup
uint subgroup;                                   // number in the workgroup
uint lane;                                       // number in the subgroup
uint first_row;                                  // the first packed row of the subgroup
float slope_row[SLOPES];                         // ALiBi: slopes of the rows' heads, in the unit of scores
float factor_row[HAS_BIAS_FACTORS ? SLOPES : 1]; // bias factors of the rows' heads
RowDropout dropout_row[HAS_DROPOUT ? ROW_MATRICES * FRAGMENT_ROWS : 1];
bool bias_in_words;   // bias rows are aligned to words of 4 bytes, and a lane loads complete words
bool bias_in_vectors; // bias rows are aligned to vectors, and a lane loads complete vectors

// The state of the algorithm: o_i, m_i and l_i of the paper, in registers from the first tile of keys to the last.
LeftMatrix q_matrix[OPERAND_MATRICES(ROW_MATRICES * HELD_Q_SLICES)];
ResultMatrix o_matrix[ROW_MATRICES * VALUE_MATRICES];
float m_row[ROW_MATRICES *
            FRAGMENT_ROWS]; // follows the running maximum in whole numbers, at most RESCALE_THRESHOLD behind it
float l_row[ROW_MATRICES * FRAGMENT_ROWS]; // running sum over this invocation's keys; lanes are added at the end

// The present tile of keys.
uint tile_begin;                                    // its first key
uint first_key;                                     // the lane's first key in it
uint lane_entries[HAS_CHOSEN_KEYS ? LANE_KEYS : 1]; // the lane's keys in it, where they stand in a list of chosen keys
uint present_keys[(LANE_KEYS + 31) / 32]; // partial tiles: bit i of all words is set if key i of the lane has a page
ivec2 matrix_keys[ROW_MATRICES]; // partial tiles: keys [x, y) that rows of a matrix may see, besides first keys
int lane_distance;               // ALiBi: from the position of the lane's first row to first_key
ResultMatrix s_matrix[ROW_MATRICES * KEY_MATRICES];
LeftMatrix p_matrix[OPERAND_MATRICES(ROW_MATRICES * KEY_SLICES)];
vec3 deferred;            // factors that are deferred to the exponent (deferred_scores.glsl)
float slope_step[SLOPES]; // ALiBi: change from key to key of this tile; 0 where scores include ALiBi
float tile_maximum[ROW_MATRICES * FRAGMENT_ROWS]; // over this invocation's scores, in the unit of scores
float row_factor[FRAGMENT_ROWS];                  // factors of the rows of o, for one row of matrices
ResultMatrix factors;                             // row_factor as a matrix: each in all columns of its row

// Words in flight from device memory to shared memory or, for the bias, to the scores.
uvec4 fetched_q[QUERY_LOADS(ROW_MATRICES * Q_CHUNKS * Q_LANE_WORDS)];
uvec4 fetched_k[K_FETCHES];
uvec4 fetched_v[V_FETCHES];
uint fetched_bias[HAS_BIAS ? OWN_ROWS * BIAS_WORDS : 1];

// Shared memory: TILE_KEYS rows of k, then TILE_KEYS rows of v, in the order of tileKey. Before and after the walk over
// the keys it holds STAGE_WORDS for each subgroup: q when it is loaded, or o when it is stored. The shared slices of q
// follow, from Q_STAGE on, with SUBGROUP_ROWS rows for each subgroup.
const uint Q_STAGE = VKF_MAX_WORDS(KV_WORDS, SUBGROUPS * STAGE_WORDS);
shared uvec4 stage[Q_STAGE + VKF_MATRIX_SHARED_Q_WORDS(TILE_ROWS, SHARED_Q_SLICES, MATRIX_DEPTH)];
shared uvec2 bias_rows[HAS_BIAS ? TILE_ROWS : 1]; // addresses of key 0 in each bias row; past the last row, its address
// Where slice d of the subgroup's matrix r lies among the shared slices.
#define SHARED_QUERIES(r, d)                                                                                           \
    (Q_STAGE + (subgroup * SUBGROUP_ROWS + (r)*MATRIX_ROWS) * Q_ROW + ((d)-HELD_Q_SLICES) * SLICE_WORDS)

// Key number `index` of the lane in the present tile, for masks and terms of scores.
uint scoreKey(const uint index) {
    return HAS_CHOSEN_KEYS ? keyOfEntry(lane_entries[HAS_CHOSEN_KEYS ? index : 0]) : first_key + index;
}

void setLaneEntries() {
    UNROLL for (uint i = 0; i < (HAS_CHOSEN_KEYS ? LANE_KEYS : 0); i++) {
        uint entry = listEntry(first_key + i, list_end);
        lane_entries[i] = mayBeSeen(item, keyOfEntry(entry)) ? entry : NO_KEY;
    }
}

// Where the rows of a tile of k or v lie in device memory.

// The key of a key number, which counts entries of a list of chosen keys. The key exists if the number does.
uint listedKey(const uint number) {
    return HAS_CHOSEN_KEYS ? keyOfEntry(listEntry(number, list_end)) : number;
}

// Address of a row of a tile of k or v. Where no tile lies in several pages, one page lookup serves the tile.
uvec2 tileRowAddress(const HalfRows rows, const uint tensor, const uint key_begin, const uint row) {
    if (HAS_CHOSEN_KEYS || (PAGED && PAGE % TILE_KEYS != 0)) {
        uint key = listedKey(key_begin + row);
        return keyAddress(rows.address, tensor, pageOf(rows.batch, key), key);
    }
    uvec2 first = keyAddress(rows.address, tensor, pageOf(rows.batch, key_begin), key_begin);
    return add64(first, uvec2(row * rows.row_stride, 0));
}

#endif
