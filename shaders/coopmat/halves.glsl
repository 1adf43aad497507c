// SPDX-License-Identifier: MIT
//
// Operands of 16 bits: one matrix holds the elements of a matrix of q or p, and there is a load for each word of eight
// elements, or for each piece of a block type. bf16x3.glsl has the same for fp32 numbers.
#ifndef VKF_COOPMAT_HALVES_GLSL
#define VKF_COOPMAT_HALVES_GLSL

#include "matrix/loaded_words.glsl"

#define OPERAND_MATRICES(count) (count)
#define QUERY_LOADS(words) (words)
const uint K_FETCHES = (TILE_KEYS * K_LOADS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE; // loads of an invocation
const uint V_FETCHES = (TILE_KEYS * V_LOADS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint KV_WORDS = VKF_MATRIX_KV_WORDS(TILE_KEYS, MATRIX_DEPTH, MATRIX_COLUMNS, HEAD_DIM, VALUE_DIM);
const uint V_STAGE = TILE_KEYS * K_ROW; // where the rows of v begin

#endif
