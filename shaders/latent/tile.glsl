// SPDX-License-Identifier: MIT
//
// The tile of the latent kernel, and its shared memory.
#ifndef VKF_LATENT_TILE_GLSL
#define VKF_LATENT_TILE_GLSL

#include "matrix/loaded_words.glsl"

const uint SUBGROUPS = WORKGROUP_SIZE / LANES;
const uint DEPTH_SUBGROUPS = SUBGROUPS / (KEY_MATRICES * ROW_MATRICES);
const uint TILE_ROWS = ROW_MATRICES * MATRIX_ROWS;
const uint TILE_KEYS = KEY_MATRICES * MATRIX_DEPTH;
const uint ROW_THREADS = TILE_KEYS / 2;
const uint DIM_MATRICES = VKF_LATENT_MATRICES(HEAD_DIM, MATRIX_DEPTH, DEPTH_SUBGROUPS); // matrices of a subgroup
const uint VALUE_MATRICES = VKF_LATENT_MATRICES(VALUE_DIM, MATRIX_DEPTH, SUBGROUPS);    // of each matrix of rows
const uint ROW_PARTIALS = KEY_MATRICES * DEPTH_SUBGROUPS; // partial sums of scores of a matrix of rows
const uint MATRIX_FLOATS = MATRIX_ROWS * MATRIX_COLUMNS;
const uint MATRIX_VEC4S = MATRIX_FLOATS / 4;

// Sizes in words of eight elements.
const uint SIDE_WORDS = MATRIX_DEPTH / 8;
const uint K_WORDS = HEAD_DIM / 8;
const uint V_WORDS = VALUE_DIM / 8;
const uint STAGE_ROW = VKF_LATENT_ROW_WORDS(HEAD_DIM, VALUE_DIM, MATRIX_DEPTH, DEPTH_SUBGROUPS, SUBGROUPS);
// Loads of an invocation. The loads of q serve TILE_KEYS rows, which are at least TILE_ROWS.
const uint Q_FETCHES = (TILE_KEYS * K_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint K_FETCHES = (TILE_KEYS * K_LOADS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint V_FETCHES = (TILE_KEYS * V_LOADS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint STAGE_MATRICES = TILE_KEYS * STAGE_ROW / (SUBGROUPS * MATRIX_VEC4S); // room for matrices of o
const uint STAGED_MATRICES =
    STAGE_MATRICES < VALUE_MATRICES ? STAGE_MATRICES : VALUE_MATRICES; // matrices that are staged at once

shared uvec4 stage[TILE_KEYS * STAGE_ROW];       // q, then tiles of k, which become tiles of v, then o
shared float s_stage[SUBGROUPS * MATRIX_FLOATS]; // partial sums of scores, then factors of rows
shared uint p_stage[TILE_ROWS * ROW_THREADS];    // pairs of probabilities

// Pages of the keys that are fetched next. Entries of the list of chosen keys follow, for the present tile and the one
// that is fetched next, which take turns.
const uint STAGED_PAGES = PAGED ? TILE_KEYS : 1;
const uint STAGED_ENTRIES = HAS_CHOSEN_KEYS ? 2 * TILE_KEYS : 0;
shared uint page_stage[STAGED_PAGES + STAGED_ENTRIES];

#endif
