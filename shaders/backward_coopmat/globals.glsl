// SPDX-License-Identifier: MIT
//
// All mutable state of backward_coopmat.comp, and its shared memory. backward/walk.glsl and masks/block_mask.glsl keep
// state of their own: the position of the walk, which is the tile that is fetched.
//
// One kernel owns a tensor, and the other one visits it. So operands and sums have names that fit both, here and in
// path scalar:
//
//     name   owner of keys              owner of rows              columns
//     qk     owns k, visits q           owns q, visits k           HEAD_DIM
//     dov    owns v, visits dout        owns dout, visits v        VALUE_DIM
//     dqk    sums dk                    sums dq                    HEAD_DIM
//     dv     sums dv                                               VALUE_DIM
#ifndef VKF_BACKWARD_COOPMAT_GLOBALS_GLSL
#define VKF_BACKWARD_COOPMAT_GLOBALS_GLSL

#include "matrix/half_rows.glsl"

// A word has 16 bytes, which are eight elements.
const uint STAGE_UNIT = VKF_MAX_WORDS(MATRIX_DEPTH, MATRIX_COLUMNS);
const uint QK_ROW = VKF_BACKWARD_MATRIX_ROW_WORDS(HEAD_DIM, STAGE_UNIT, DEPTH_SUBGROUPS); // words from row to row
const uint DOV_ROW = VKF_BACKWARD_MATRIX_ROW_WORDS(VALUE_DIM, STAGE_UNIT, DEPTH_SUBGROUPS);
const uint QK_WORDS = (HEAD_DIM + 7) / 8; // in a row
const uint DOV_WORDS = (VALUE_DIM + 7) / 8;
const uint SLICE_WORDS = MATRIX_DEPTH / 8; // words in a row of an operand
const uint COLUMN_WORDS = MATRIX_COLUMNS / 8;

// A stage has the rows of q or k of a visited tile, then the rows of dout or v.
const uint STAGE_DOV = VISITED * QK_ROW; // where the rows of dout or v begin
const uint STAGE_WORDS = VISITED * (QK_ROW + DOV_ROW);
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

HalfRows owned_qk, owned_dov, visited_qk, visited_dov;
uvec2 first_qk, first_dov; // addresses of the first visited head
uvec2 visited_states;      // if rows are visited: the address of the state of row 0 of the walk's head

// k and v of the owned keys, or q and dout of the owned rows.
LeftMatrix qk_matrix[OWNED_MATRICES * QK_SLICES];
LeftMatrix dov_matrix[OWNED_MATRICES * DOV_SLICES];

// The sums: dv of OWNED_MATRICES x DV_COLUMNS matrices, then dk or dq of OWNED_MATRICES x DQK_COLUMNS matrices.
const uint FIRST_DQK_SUM = OWNED_MATRICES * DV_COLUMNS;
const uint SUMS = OWNED_MATRICES * (DV_COLUMNS + DQK_COLUMNS);
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
const uint QK_FETCHES = (STEP * QK_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint DOV_FETCHES = (STEP * DOV_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint STATE_FETCHES = (VISITED + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
uvec4 fetched_qk[VISITED_STEPS * QK_FETCHES];
uvec4 fetched_dov[VISITED_STEPS * DOV_FETCHES];
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
