// SPDX-License-Identifier: MIT
//
// Sizes of the cooperative-matrix kernel that follow from its tile and from the problem.
//
// Needs: common/item.glsl, matrix/matrix_tile.glsl, scores/score_terms.glsl.
// Provides: where rows of k, v and q lie in shared memory; which depths of q lie there. How many words of k, v and q an
// invocation moves; how many rows it has elements of; how many words of a bias row it holds.
// ADDS_BIAS: the kernel adds the bias.
#ifndef VKF_COOPMAT_SIZES_GLSL
#define VKF_COOPMAT_SIZES_GLSL

#ifdef VKF_BF16X3
#include "coopmat/bf16x3.glsl"
#else
#include "matrix/loaded_words.glsl"
#endif

// A word has 16 bytes, which are eight elements.
const uint K_WORDS = (HEAD_DIM + 7) / 8; // in a row
const uint V_WORDS = (VALUE_DIM + 7) / 8;
const uint K_ROW = VKF_MATRIX_ROW_WORDS(DIM_TILES, MATRIX_DEPTH); // words from row to row in shared memory
const uint V_ROW = VKF_MATRIX_ROW_WORDS(VALUE_TILES, MATRIX_COLUMNS);
#ifdef VKF_BF16X3 // two loads bring the eight elements of a word
const uint K_FETCHES = (TILE_KEYS * K_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE * 2; // loads of an invocation
const uint V_FETCHES = (TILE_KEYS * V_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE * 2;
const uint KV_WORDS = BF16X3_PARTS * VKF_MATRIX_KV_WORDS(TILE_KEYS, MATRIX_DEPTH, MATRIX_COLUMNS, HEAD_DIM, VALUE_DIM);
const uint V_STAGE = BF16X3_PARTS * TILE_KEYS * K_ROW; // where the rows of v begin
#else
const uint K_FETCHES = (TILE_KEYS * K_LOADS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE; // loads of an invocation
const uint V_FETCHES = (TILE_KEYS * V_LOADS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint KV_WORDS = VKF_MATRIX_KV_WORDS(TILE_KEYS, MATRIX_DEPTH, MATRIX_COLUMNS, HEAD_DIM, VALUE_DIM);
#endif
const uint STAGE_WORDS = VKF_MATRIX_STAGE_WORDS(MATRIX_ROWS, MATRIX_DEPTH, MATRIX_COLUMNS); // words of a subgroup
const uint TILE_WORDS = MATRIX_DEPTH / 8;         // words in a row of a matrix of q, or in a column of a matrix of k^T
const uint VALUE_TILE_WORDS = MATRIX_COLUMNS / 8; // words in a row of a matrix of v
#ifndef VKF_BF16X3
const uint V_STAGE = TILE_KEYS * K_ROW;           // where the rows of v begin
#endif
// Whether rows of k or v have columns past their last word. No tile overwrites these columns. A choice joins the two
// comparisons: glslang writes wrong SPIR-V for || and && of such constants, which the test spirv_val finds.
const bool CLEARS_STAGE = K_WORDS != DIM_TILES * TILE_WORDS ? true : V_WORDS != VALUE_TILES * VALUE_TILE_WORDS;

// A chunk: the depths of q that a subgroup stages at once, for one row of matrices.
const uint Q_CHUNKS = (DIM_TILES + VKF_MATRIX_STAGED_TILES - 1) / VKF_MATRIX_STAGED_TILES; // of a row of matrices
const uint Q_CHUNK_ROW = VKF_MATRIX_ROW_WORDS(VKF_MATRIX_STAGED_TILES, MATRIX_DEPTH); // words from row to row
const uint Q_CHUNK_WORDS = VKF_MATRIX_STAGED_TILES * TILE_WORDS;    // words in a row of a chunk
const uint Q_LANE_WORDS = MATRIX_ROWS * Q_CHUNK_WORDS / LANES;      // words of a chunk that a lane moves

// The last SHARED_DEPTHS depths of q lie in shared memory during the loop over keys, all others in registers.
layout(constant_id = VKF_ID_SHARED_DEPTHS) const uint SHARED_DEPTHS = 0;
const uint HELD_DEPTHS = DIM_TILES - SHARED_DEPTHS;
const uint Q_ROW = VKF_MATRIX_ROW_WORDS(SHARED_DEPTHS, MATRIX_DEPTH); // words from row to row

const uint OWN_ROWS = ROW_TILES * FRAGMENT_ROWS;                     // rows of which an invocation has elements
const uint SLOPES = PACKED_HEADS == 1 ? 1 : OWN_ROWS;        // slopes of ALiBi: one for each head among these rows
const uint BIAS_BITS = 1u << LOG_BIAS_BITS;                  // bits of an element of the bias
const uint BIAS_WORDS = (LANE_KEYS * BIAS_BITS + 31) / 32;   // words of 4 bytes in a bias row, for the lane's keys
const bool ADDS_BIAS = HAS_BIAS && !BIAS_IS_MASK;

#endif
