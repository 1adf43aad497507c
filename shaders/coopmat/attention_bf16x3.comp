// SPDX-License-Identifier: MIT
//
// The kernel of attention_coopmat.comp for fp32 q, k and v, at the accuracy of fp32: each number is the sum of three
// bf16 numbers, its parts (bf16x3.glsl). Lines of the algorithm that differ:
//
//      4, 7   rows pass through shared memory as parts                         loadQueries, bf16x3_stage.glsl
//      8, 10  six products of parts for each product                           bf16x3_products.glsl
//     12      infinity, NaN and huge numbers: another kernel computes all      endSpecialValues
//             again, in plain arithmetic (scalar/attention_scalar.comp)
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
#define loadQueries loadQueryParts
#define computeProducts multiplyParts
#define makeProbabilities makeProbabilityParts
#define accumulateOutput accumulateParts
#define VKF_SPREADS_ROWS MAY_SPREAD_ROWS
#define VKF_FETCHES_AHEAD false // it would need registers

#include "coopmat/prelude.glsl"
#include "matrix/half_rows.glsl"
#include "coopmat/tile.glsl"                  // sizes, and the rows of a subgroup.
#include "coopmat/bf16x3.glsl"                // the parts of a number.
#include "coopmat/globals.glsl"               // all mutable variables.
#include "coopmat/bf16x3_stage.glsl"          // fetchTile, stageTile: 7.
#include "coopmat/deferred_scores.glsl"       // exponent, takeProbability.
#include "coopmat/elements_in_registers.glsl" // SCORE, takeScores.
#include "coopmat/output.glsl"                // normalize: 12, 13.

// Line 4. Fetches all rows at once. Their parts pass through shared memory one after the other, VKF_STAGED_MATRICES
// matrices at a time.
void loadQueryParts() {
    uint begin = subgroup * STAGE_WORDS;
    fetchQueries(q, first_row, lane);
    signQueries();
    UNROLL for (uint i = 0; i < ROW_MATRICES * Q_CHUNKS * BF16X3_PARTS; i++) {
        const uint chunk = i / BF16X3_PARTS;
        subgroupBarrier(); // the readers of the last part are done
        stageQueries(chunk, begin, lane);
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        UNROLL for (uint tile = 0; tile < VKF_STAGED_MATRICES; tile++) {
            const uint d = chunk % Q_CHUNKS * VKF_STAGED_MATRICES + tile;
            if (d < DIM_MATRICES) {
                coopMatLoad(q_matrix[(chunk / Q_CHUNKS * DIM_MATRICES + d) * BF16X3_PARTS + i % BF16X3_PARTS], stage,
                            begin + tile * SLICE_WORDS, Q_CHUNK_ROW, gl_CooperativeMatrixLayoutRowMajor);
            }
        }
    }
}

#include "coopmat/begin.glsl"           // clearState: 5.
#include "coopmat/scores.glsl"          // fetchBias; softcap, ALiBi and bias: 8.
#include "coopmat/softmax.glsl"         // masks, rescale: 9.
#include "coopmat/bf16x3_products.glsl" // computeProducts: 8; makeProbabilities: 9; accumulateOutput: 10.
#include "coopmat/tile_walk.glsl"       // computeScores: 8, 9; the order of the tiles.
#include "coopmat/tile_loop.glsl"       // attend: 6 to 11.
#include "coopmat/main.glsl"
