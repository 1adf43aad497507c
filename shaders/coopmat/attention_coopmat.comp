// SPDX-License-Identifier: MIT
//
// Fused attention on cooperative matrices, with fp16 or bf16 products and fp32 sums. The kernel follows algorithm 1 of
// FlashAttention-2 (Dao 2023, arXiv 2307.08691). Numbers in comments are lines of that algorithm:
//
//      1,  2   Tr tiles of query rows, Tc tiles of keys                       src/tiles/coopmat_tile.cpp
//      3       for each tile i of query rows                                  a workgroup: itemOf
//      4         load q_i                                                     loadQueries
//      5         o_i = 0, l_i = 0, m_i = -infinity                            clearState
//      6         for each tile j of keys                                      attend
//      7           load k_j, v_j                                              fetchTile, stageTile
//      8           s = q_i k_j^T                                              makeScores
//      9           m_i = max(m_i, rowmax s), p = exp(s - m_i),
//                  l_i = exp(m_old - m_i) l_i + rowsum p                      rescale, makeProbabilities
//     10           o_i = exp(m_old - m_i) o_i + p v_j                         rescale, accumulateOutput
//     12         o_i = o_i / l_i                                              normalize
//     13         lse_i = m_i + log l_i                                        storeLse
//     14, 15     store o_i, lse_i                                             writeResults
//
// Where the kernel deviates:
//      6   Full tiles and partial tiles have a loop each, so the loop for full tiles has no mask code.
//      7   The next tile is in flight to registers while line 10 uses this tile. With FETCHES_AHEAD, the first tile
//          of the second loop follows the last tile of the first loop in this way.
//      8   Where registers are short, the last slices of q are in shared memory.
//   8, 10  A subgroup skips the products of its first matrix of rows, or of all, with a partial tile of which
//          these rows see no key. coopmat/tile.glsl says which matrices a subgroup has.
//      9   Exponentials are powers of two (scores/units.glsl). m_i moves by whole numbers, and only when a
//          score exceeds it by more than RESCALE_THRESHOLD. So nearly all tiles leave o unchanged, and o takes most of
//          the registers.
//     10   The kernel computes p of the next slice of keys between the products of this slice.
//     12   With key splits, a workgroup takes some of the tiles j. merge_splits.comp joins the partial results
//          (o, m, l).
//
// A workgroup owns TILE_ROWS packed rows (common/item.glsl) of one KV head. A subgroup owns SUBGROUP_ROWS of these
// rows, with all their keys and all columns of o. So the softmax of one subgroup overlaps with the products of another.
// Each matrix of k or v that a subgroup reads from shared memory serves ROW_MATRICES products. A subgroup holds:
//
//     q      ROW_MATRICES x HELD_Q_SLICES matrices
//     s      ROW_MATRICES x KEY_MATRICES matrices; an invocation finds its scores by SCORE(matrix, element)
//     p      ROW_MATRICES x KEY_SLICES matrices
//     o      ROW_MATRICES x VALUE_MATRICES matrices
//     m, l   in each invocation: one pair for each row of which it holds elements (matrix/matrix_tile.glsl)
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

// The functions of this kernel that other kernels replace, and its choices.
#define loadQueries loadHalfQueries
#define computeProducts multiplyHalves
#define makeProbabilities makeHalfProbabilities
#define accumulateOutput accumulateHalves
#define VKF_SPREADS_ROWS MAY_SPREAD_ROWS
#define VKF_FETCHES_AHEAD MAY_FETCH_AHEAD

#include "coopmat/prelude.glsl"
#include "matrix/special_values.glsl" // infinity and NaN in v.
#include "matrix/half_rows.glsl"
#include "coopmat/tile.glsl"                  // sizes, and the rows of a subgroup.
#include "coopmat/halves.glsl"                // operands of 16 bits.
#include "coopmat/globals.glsl"               // all mutable variables.
#include "coopmat/stage.glsl"                 // fetchTile, stageTile: 7.
#include "coopmat/deferred_scores.glsl"       // exponent, takeProbability.
#include "coopmat/elements_in_registers.glsl" // SCORE, makeProbabilities: 9.
#include "coopmat/output.glsl"                // normalize: 12, 13.
#include "coopmat/begin.glsl"                 // loadQueries: 4; clearState: 5.
#include "coopmat/scores.glsl"                // fetchBias; softcap, ALiBi and bias: 8.
#include "coopmat/softmax.glsl"               // masks, rescale: 9.
#include "coopmat/tile_walk.glsl"             // computeScores: 8, 9; the order of the tiles.
#include "coopmat/tile_loop.glsl"             // attend: 6 to 11.
#include "coopmat/main.glsl"
