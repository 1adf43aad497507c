// SPDX-License-Identifier: MIT
//
// All mutable state of the cooperative-matrix kernel, and its shared memory. A subgroup owns ROW_TILES x MATRIX_ROWS
// rows; an invocation has parts of OWN_ROWS of them (matrix/matrix_tile.glsl).
//
// State that shared includes keep for themselves stays with them: masks/tile_map.glsl (map_row, map_first, held_map,
// held_open, held_kept), masks/block_mask.glsl (mask_head, ..., held_word, held_bits), cache/paging.glsl (block_table)
// and matrix/special_values.glsl (special_values, shared).
//
// Needs: common/params.glsl (Item), matrix/half_rows.glsl (HalfRows), scores/dropout.glsl (RowDropout),
// coopmat/sizes.glsl, scores/score_terms.glsl (HAS_BIAS_FACTORS).
// Provides: the variables below.
#ifndef VKF_COOPMAT_STATE_GLSL
#define VKF_COOPMAT_STATE_GLSL

// A score that passes m_row by more than this raises it, in units of log2. So no probability passes 2^8, far from
// fp16's largest.
#define RESCALE_THRESHOLD 8.0

// Where the invocation stands and what it works on: set once, in main.
Item item;
HalfRows q, k, v; // of the item's head and KV head
uint thread;      // in the workgroup
uint subgroup;
uint lane;        // in the subgroup
uint first_row;   // of the subgroup, packed
float slope_row[SLOPES]; // ALiBi: slopes of the rows' heads, in units of log2
float factor_row[HAS_BIAS_FACTORS ? SLOPES : 1]; // of the bias of the rows' heads, in units of log2
RowDropout dropout_row[HAS_DROPOUT ? ROW_TILES * SLOTS : 1];
bool bias_in_words;  // each bias row begins with a word of 4 bytes
bool bias_in_pieces; // each bias row begins with as many words as a lane loads at once

// The state of the algorithm: o_i, m_i and l_i of the paper, in registers from the first tile of keys to the last.
LeftMatrix q_tile[ROW_TILES * DIM_TILES];
ResultMatrix o_tile[ROW_TILES * VALUE_TILES];
float m_row[ROW_TILES * SLOTS]; // follows the running maximum in whole numbers, at most RESCALE_THRESHOLD behind it
float l_row[ROW_TILES * SLOTS]; // running sum over this invocation's keys; lanes are added at the end

// The tile of keys at hand.
uint tile_begin;   // its first key
uint first_key;    // the lane's first key in it
int lane_distance; // ALiBi: from the position of the lane's first row to first_key
ResultMatrix s_tile[ROW_TILES * KEY_TILES];
LeftMatrix p_tile[ROW_TILES * KEY_DEPTHS];
#ifdef VKF_MATRIX_EXCHANGE
float score[ROW_TILES * KEY_TILES * ELEMENTS]; // the invocation's scores, taken out of s_tile; then its probabilities
#endif
vec3 deferred;                         // factors of the scores that wait for the exponent (deferred_scores.glsl)
float slope_step[SLOPES];              // ALiBi: from key to key of this tile, 0 where scores have it already
float tile_maximum[ROW_TILES * SLOTS]; // of this invocation's scores, in units of log2
float row_factor[SLOTS];               // what rows of o are multiplied by, of one row of matrices
ResultMatrix factors;                  // the same, each in all columns of its row

// On the way from device memory to shared memory.
uvec4 fetched_q[ROW_TILES * Q_CHUNKS * Q_LANE_WORDS];
uvec4 fetched_k[K_FETCHES];
uvec4 fetched_v[V_FETCHES];
uint fetched_bias[HAS_BIAS ? OWN_ROWS * BIAS_WORDS : 1];

// Shared memory: TILE_KEYS rows of k, then TILE_KEYS rows of v, in the order of tileKey. Before and after the walk over
// the keys it holds STAGE_WORDS for each subgroup, for q on its way in and o on its way out.
shared uvec4 stage[VKF_MAX_WORDS(KV_WORDS, SUBGROUPS * STAGE_WORDS)];
shared uvec2 bias_rows[HAS_BIAS ? TILE_ROWS : 1]; // addresses of key 0 in each row; past the last row the last one's
#ifdef VKF_MATRIX_EXCHANGE
const uint EXCHANGE_WORDS = VKF_MATRIX_EXCHANGE_WORDS(MATRIX_ROWS, TILE_KEYS); // of a subgroup
shared uvec4 exchange[SUBGROUPS * EXCHANGE_WORDS]; // scores and probabilities of one row of matrices
#endif

#endif
