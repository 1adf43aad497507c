// SPDX-License-Identifier: MIT
//
// The kernel of attention_coopmat.comp for heads of up to 64 columns with dense 16-bit k and v, without score terms and
// per-key masks. k and v of a tile are fetched at different times (narrow_loop.glsl). All else is the same.
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
#define VKF_SPREADS_ROWS false  // narrow heads gain nothing
#define VKF_FETCHES_AHEAD false // k and v of a tile are fetched at different times

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
#include "coopmat/narrow_loop.glsl"           // attend: 6 to 11.
#include "coopmat/main.glsl"
