// SPDX-License-Identifier: MIT
//
// All mutable state of backward_coopmat.comp, and its shared memory. backward/walk.glsl and masks/block_mask.glsl keep
// state of their own: the position of the walk, which is the tile that is fetched.
#ifndef VKF_BACKWARD_COOPMAT_GLOBALS_GLSL
#define VKF_BACKWARD_COOPMAT_GLOBALS_GLSL

#include "matrix/half_rows.glsl"

// A word has 16 bytes, which are eight elements.
const uint STAGE_UNIT = VKF_MAX_WORDS(MATRIX_DEPTH, MATRIX_COLUMNS);
const uint HEAD_ROW = VKF_BACKWARD_MATRIX_ROW_WORDS(HEAD_DIM, STAGE_UNIT, DEPTH_SUBGROUPS); // words from row to row
const uint VALUE_ROW = VKF_BACKWARD_MATRIX_ROW_WORDS(VALUE_DIM, STAGE_UNIT, DEPTH_SUBGROUPS);
const uint HEAD_WORDS = (HEAD_DIM + 7) / 8; // in a row
const uint VALUE_WORDS = (VALUE_DIM + 7) / 8;
const uint SLICE_WORDS = MATRIX_DEPTH / 8; // words in a row of an operand
const uint COLUMN_WORDS = MATRIX_COLUMNS / 8;

// A stage has the rows of q or k of a visited tile, then those of dout or v.
const uint STAGE_VALUES = VISITED * HEAD_ROW; // where the second rows begin
const uint STAGE_WORDS = VISITED * (HEAD_ROW + VALUE_ROW);
const uint SUBGROUP_WORDS = VKF_MATRIX_STAGE_WORDS(MATRIX_ROWS, MATRIX_DEPTH, MATRIX_COLUMNS);
const uint ALL_STAGE_WORDS = VKF_MAX_WORDS((TWO_STAGES ? 2 : 1) * STAGE_WORDS, SUBGROUPS * SUBGROUP_WORDS);

// The tile that the walk fetches.
Item item;
uint key_begin;

// The tile that is computed.
Item present;
uint present_key_begin;
uvec2 present_mask_head; // of its block mask
float slope;             // ALiBi: of its head, in the unit of scores
uint present_stage;      // the first word of its stage
uint present_rows;       // its first row in row_states

HalfRows owned_heads, owned_values, visited_heads, visited_values;
uvec2 first_heads, first_values; // addresses of the first head that is visited
uvec2 visited_states;            // if rows are visited: the address of the state of row 0 of the walk's head

// k and v of the owned keys, or q and dout of the owned rows.
LeftMatrix head_matrix[OWNED_MATRICES * HEAD_SLICES];
LeftMatrix value_matrix[OWNED_MATRICES * VALUE_SLICES];

// The sums: dv of OWNED_MATRICES x VALUE_COLUMNS matrices, then dk or dq of OWNED_MATRICES x HEAD_COLUMNS matrices.
const uint FIRST_HEAD_SUM = OWNED_MATRICES * VALUE_COLUMNS;
const uint SUMS = OWNED_MATRICES * (VALUE_COLUMNS + HEAD_COLUMNS);
ResultMatrix sum_matrix[SUMS > 0 ? SUMS : 1];

// The factor of ds in the sums of dk or dq, a power of two. It is 1, unless a ds exceeded the largest fp16.
float ds_factor;
shared uint overflowed; // not 0: a ds of a full tile did

// Matrices of pairs of one step: scores, then dp. The invocation turns them into p and ds, the operands of the sums.
ResultMatrix pair_matrix[2 * SCORE_MATRICES];
LeftMatrix operand_matrix[2 * OWNED_MATRICES * STEP_SLICES];

// If rows are owned: their state (shared/backward_params.h), and the generator key or mask of their dropout.
vec2 own_state[OWNS_KEYS ? 1 : LANE_ROWS];
RowDropout own_dropout[HAS_DROPOUT && !OWNS_KEYS ? LANE_ROWS : 1];

// Words of a visited tile, and the states of its rows, in flight from device memory to shared memory.
const uint HEAD_FETCHES = (STEP * HEAD_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint VALUE_FETCHES = (STEP * VALUE_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint STATE_FETCHES = (VISITED + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
uvec4 fetched_heads[VISITED_STEPS * HEAD_FETCHES];
uvec4 fetched_values[VISITED_STEPS * VALUE_FETCHES];
vec2 fetched_states[OWNS_KEYS ? STATE_FETCHES : 1];

// Whether a visited row or key had infinity or NaN in the present partial tile, and in one so far.
bool present_is_special;
bool special_values;

// Number of the tile that was staged last, and for each stage the last tile in it with a row that gives and takes
// nothing or does not exist, and the last partial tile in it with infinity or NaN.
uint tile_number;
shared uint last_empty[2];
shared uint last_special[2];

// The stages. Before the walk and behind it: SUBGROUP_WORDS for each subgroup, through which owned operands come in and
// sums go out.
shared uvec4 stage[ALL_STAGE_WORDS];

// If rows are visited: the state of the rows of each stage, and the generator key or mask of their dropout.
shared vec2 row_states[OWNS_KEYS ? (TWO_STAGES ? 2 : 1) * VISITED : 1];
shared uvec4 row_dropouts[OWNS_KEYS && HAS_DROPOUT ? (TWO_STAGES ? 2 : 1) * VISITED : 1];

// Pairs of a step that subgroups that own the same rows or keys add up.
const uint JOIN_ROW = VKF_BACKWARD_JOIN_ROW_WORDS(MATRIX_COLUMNS);
const uint JOIN_WORDS = MATRIX_ROWS * JOIN_ROW; // of a matrix
shared uvec4 join_stage[DEPTH_SUBGROUPS > 1 ? SUBGROUPS * 2 * SCORE_MATRICES * JOIN_WORDS : 1];

#endif
