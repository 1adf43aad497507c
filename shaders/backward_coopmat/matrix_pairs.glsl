// SPDX-License-Identifier: MIT
//
// The tile of backward_coopmat.comp: which subgroup owns what, in which steps it visits a tile, and which element of a
// matrix is which pair. The words "owned" and "visited" stand for rows or keys, as in backward/backward_scalar.comp.
// backward_coopmat/globals.glsl has the names of operands and sums.
//
// Matrices of pairs have what is owned as rows and what is visited as columns. All pairs of a query row share lse,
// delta, masks and score terms.
#ifndef VKF_MATRIX_PAIRS_GLSL
#define VKF_MATRIX_PAIRS_GLSL

#include "matrix/matrix_layout.glsl"

layout(constant_id = VKF_ID_OWNER) const uint OWNER = VKF_OWNS_ROWS;
layout(constant_id = VKF_ID_WRITES_DK) const bool WRITES_DK = false;
layout(constant_id = VKF_ID_WRITES_DV) const bool WRITES_DV = false;
layout(constant_id = VKF_ID_OWNED_MATRICES) const uint OWNED_MATRICES = 1;
layout(constant_id = VKF_ID_VISITED_STEPS) const uint VISITED_STEPS = 1;
layout(constant_id = VKF_ID_TWO_STAGES) const bool TWO_STAGES = false;
layout(constant_id = VKF_ID_DEPTH_SUBGROUPS) const uint DEPTH_SUBGROUPS = 1; // 1 or 2
layout(constant_id = VKF_ID_STORES_P) const bool STORES_P = false;           // it makes no sums, and stores p and ds
layout(constant_id = VKF_ID_PAIRS_BY_LANE) const bool PAIRS_BY_LANE = false; // stored_matrices.glsl
layout(constant_id = VKF_ID_WHOLE_WORDS) const bool WHOLE_WORDS = true;
layout(constant_id = VKF_ID_TYPE_DOUT) const uint TYPE_DOUT = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_DQ) const uint TYPE_DQ = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_DK) const uint TYPE_DK = VKF_STORED_F32;
layout(constant_id = VKF_ID_TYPE_DV) const uint TYPE_DV = VKF_STORED_F32;

const bool OWNS_KEYS = OWNER == VKF_OWNS_KEYS;
const bool OWNS_BIAS = false;

// What the kernel computes besides the scores: dp, and sums over what it visits.
const bool SUMS_DQK = !OWNS_KEYS || WRITES_DK; // dk or dq, of HEAD_DIM columns
const bool SUMS_DV = OWNS_KEYS && WRITES_DV;   // dv, of VALUE_DIM columns
const bool NEEDS_DP = SUMS_DQK || STORES_P;

const uint SUBGROUPS = WORKGROUP_SIZE / LANES;
const uint SUBGROUP_OWNED = OWNED_MATRICES * MATRIX_ROWS;
const uint OWNED = SUBGROUPS / DEPTH_SUBGROUPS * SUBGROUP_OWNED;

// Visited rows or keys of a step. It fills the columns of pairs and the depth of sums.
const uint STEP = VKF_MAX_WORDS(MATRIX_COLUMNS, MATRIX_DEPTH);
const uint STEP_MATRICES = STEP / MATRIX_COLUMNS; // matrices of pairs side by side
const uint STEP_SLICES = STEP / MATRIX_DEPTH;     // operands of sums side by side
const uint VISITED = VISITED_STEPS * STEP;
const uint TILE_ROWS = OWNS_KEYS ? VISITED : OWNED;
const uint TILE_KEYS = OWNS_KEYS ? OWNED : VISITED;

// Matrices of the subgroup: operands, and columns of sums.
const uint QK_SLICES = VKF_BACKWARD_SHARE(HEAD_DIM, MATRIX_DEPTH, DEPTH_SUBGROUPS);
const uint DOV_SLICES = VKF_BACKWARD_SHARE(VALUE_DIM, MATRIX_DEPTH, DEPTH_SUBGROUPS);
const uint DQK_COLUMNS = SUMS_DQK ? VKF_BACKWARD_SHARE(HEAD_DIM, MATRIX_COLUMNS, DEPTH_SUBGROUPS) : 0;
const uint DV_COLUMNS = SUMS_DV ? VKF_BACKWARD_SHARE(VALUE_DIM, MATRIX_COLUMNS, DEPTH_SUBGROUPS) : 0;

const uint SCORE_MATRICES = OWNED_MATRICES * STEP_MATRICES;            // dp begins behind them
const uint PAIR_ROWS = NEEDS_DP ? 2 * OWNED_MATRICES : OWNED_MATRICES; // rows of matrices of pairs: scores, then dp

// Pairs of an invocation in a step: owned rows or keys, in fragment rows (matrix/matrix_layout.glsl), times visited
// ones, in columns. In other words, query rows times pairs of each.
const uint LANE_VISITED = STEP_MATRICES * FRAGMENT_ROW_ELEMENTS;
const uint LANE_OWNED = OWNED_MATRICES * FRAGMENT_ROWS;
const uint LANE_ROWS = OWNS_KEYS ? LANE_VISITED : LANE_OWNED;
const uint LANE_ROW_PAIRS = OWNS_KEYS ? LANE_OWNED : LANE_VISITED;

// The matrix of scores of a pair, and the element of that matrix.
uint matrixOf(const uint owned_index, const uint visited_index) {
    return owned_index / FRAGMENT_ROWS * STEP_MATRICES + visited_index / FRAGMENT_ROW_ELEMENTS;
}

uint elementOf(const uint owned_index, const uint visited_index) {
    return owned_index % FRAGMENT_ROWS * FRAGMENT_ROW_ELEMENTS + visited_index % FRAGMENT_ROW_ELEMENTS;
}

#define VKF_PAIR_MATRIX(lane_row, pair) (OWNS_KEYS ? matrixOf(pair, lane_row) : matrixOf(lane_row, pair))
#define VKF_PAIR_ELEMENT(lane_row, pair) (OWNS_KEYS ? elementOf(pair, lane_row) : elementOf(lane_row, pair))

// Owned rows or keys from the lane's first one to number `owned_index`, and visited ones likewise.
uint ownedStep(const uint owned_index) {
    return owned_index / FRAGMENT_ROWS * MATRIX_ROWS + fragmentRow(owned_index % FRAGMENT_ROWS);
}

uint visitedStep(const uint visited_index) {
    return visited_index / FRAGMENT_ROW_ELEMENTS * MATRIX_COLUMNS +
           elementPosition(visited_index % FRAGMENT_ROW_ELEMENTS).y;
}

uint thread, subgroup, lane;

// The first owned row or key of the subgroup in its workgroup, and the number of its share of the columns.
uint ownedFirst() {
    return subgroup / DEPTH_SUBGROUPS * SUBGROUP_OWNED;
}

uint columnShare() {
    return subgroup % DEPTH_SUBGROUPS;
}

#endif
