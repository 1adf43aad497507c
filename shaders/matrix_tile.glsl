// SPDX-License-Identifier: MIT
//
// The tile of the cooperative-matrix kernel.
#ifndef VKF_MATRIX_TILE_GLSL
#define VKF_MATRIX_TILE_GLSL

#include "matrix_layout.glsl"

layout(constant_id = VKF_ID_ROW_TILES) const uint ROW_TILES = 2;
layout(constant_id = VKF_ID_KEY_TILES) const uint KEY_TILES = 2;
layout(constant_id = VKF_ID_WHOLE_WORDS) const bool WHOLE_WORDS = true;
layout(constant_id = VKF_ID_OUTPUT_WORDS) const bool O_IN_WORDS = true;

const uint SUBGROUPS = WORKGROUP_SIZE / LANES;
const uint SUBGROUP_ROWS = ROW_TILES * MATRIX_ROWS;
const uint TILE_ROWS = SUBGROUPS * SUBGROUP_ROWS;
const uint TILE_KEYS = KEY_TILES * MATRIX_COLUMNS;
const uint KEY_DEPTHS = TILE_KEYS / MATRIX_DEPTH; // products that take in the keys of a tile
const uint DIM_TILES = VKF_MATRIX_TILES(HEAD_DIM, MATRIX_DEPTH);
const uint VALUE_TILES = VKF_MATRIX_TILES(VALUE_DIM, MATRIX_COLUMNS);

#endif
