// SPDX-License-Identifier: MIT
//
// The kernel of attention_coopmat.comp for fp32 q, k and v, at the accuracy of fp32: each number is the sum of three
// bf16 numbers, its parts (bf16x3.glsl). Lines of the algorithm that differ:
//
//      4, 7   rows pass through shared memory as parts                         loadQueries, bf16x3_stage.glsl
//      8, 10  six products of parts for each product                           multiplyParts, accumulateParts
//     12      infinity, NaN and huge numbers: another kernel computes all      endSpecialValues
//             again, in plain arithmetic (scalar/attention_scalar.comp)
//
// NVIDIA's matrix unit truncates each sum, relative to the magnitude of the sum. Two rules keep what that loses as
// small as the roundings of plain fp32 arithmetic:
//   - Sums of small products have accumulators of their own. Each step of the depth would truncate them together with
//     the sum of the largest products.
//   - o is never an accumulator of the matrix unit. The products of each slice of keys start from zeros, the smallest
//     ones first, and o takes their sum by one addition, which rounds to nearest.
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

#include "coopmat/begin.glsl"   // clearState: 5.
#include "coopmat/scores.glsl"  // fetchBias; softcap, ALiBi and bias: 8.
#include "coopmat/softmax.glsl" // masks, rescale: 9.

// Lines 8 to 10.

// The part of a product: q's or p's part of these numbers times k's or v's.
#define HIGH 0
#define MIDDLE 1
#define LOW 2

// Sets s to q k^T, without the scale. beginScores has set s to 0. The products of one magnitude have an accumulator, so
// that fewer of them wait for each other.
void multiplyParts(const uint first_matrix) {
    ResultMatrix s_middle[ROW_MATRICES * KEY_MATRICES];
    ResultMatrix s_low[ROW_MATRICES * KEY_MATRICES];
    UNROLL for (uint i = 0; i < ROW_MATRICES * KEY_MATRICES; i++) {
        s_middle[i] = ResultMatrix(0.0);
        s_low[i] = ResultMatrix(0.0);
    }
    UNROLL for (uint d = 0; d < DIM_MATRICES; d++) {
        UNROLL for (uint key = 0; key < KEY_MATRICES; key++) {
            RightMatrix k_part[BF16X3_PARTS];
            UNROLL for (uint part = 0; part < BF16X3_PARTS; part++) {
                coopMatLoad(k_part[part], stage, (part * TILE_KEYS + key * MATRIX_COLUMNS) * K_ROW + d * SLICE_WORDS,
                            K_ROW, gl_CooperativeMatrixLayoutColumnMajor);
            }
            UNROLL for (uint r = first_matrix; r < ROW_MATRICES; r++) {
                const uint s = r * KEY_MATRICES + key;
                const uint q_part = (r * DIM_MATRICES + d) * BF16X3_PARTS;
                s_matrix[s] = coopMatMulAdd(q_matrix[q_part + HIGH], k_part[HIGH], s_matrix[s]);
                s_middle[s] = coopMatMulAdd(q_matrix[q_part + MIDDLE], k_part[HIGH], s_middle[s]);
                s_low[s] = coopMatMulAdd(q_matrix[q_part + LOW], k_part[HIGH], s_low[s]);
                s_middle[s] = coopMatMulAdd(q_matrix[q_part + HIGH], k_part[MIDDLE], s_middle[s]);
                s_low[s] = coopMatMulAdd(q_matrix[q_part + MIDDLE], k_part[MIDDLE], s_low[s]);
                s_low[s] = coopMatMulAdd(q_matrix[q_part + HIGH], k_part[LOW], s_low[s]);
            }
        }
    }
    UNROLL for (uint i = 0; i < ROW_MATRICES * KEY_MATRICES; i++) {
        s_matrix[i] = s_matrix[i] + (s_middle[i] + s_low[i]);
    }
}

// A part as an element of a matrix.
Half halfOfPart(const float part) {
    return MATRICES_ARE_BF16 ? UPPER_HALF(floatBitsToUint(part)) : Half(part);
}

// Line 9 of the algorithm: makes the parts of p for one slice of keys, and adds its probabilities to l_i.
void makeProbabilityParts(const uint slice, const uint first_matrix) {
    UNROLL for (uint r = first_matrix; r < ROW_MATRICES; r++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            const uint row = r * FRAGMENT_ROWS + e / FRAGMENT_ROW_ELEMENTS;
            const uint key = elementKey(slice, e);
            const uint part = (r * KEY_SLICES + slice) * BF16X3_PARTS;
            float x = exponent(SCORE(r * KEY_MATRICES + slice, e), m_row[row], row, key);
            float p = takeProbability(x, row, key);
            float high = partOf(p);
            float middle = partOf(p - high);
            p_matrix[part + HIGH][e] = halfOfPart(high);
            p_matrix[part + MIDDLE][e] = halfOfPart(middle);
            p_matrix[part + LOW][e] = halfOfPart(p - high - middle);
        }
    }
}

// Line 10: o_i += p v_j. The caller has made the probabilities of the first slice of keys. This loop makes the
// probabilities of the next slice between the products of this slice, while the matrix unit works.
void accumulateParts(const uint first_matrix) {
    UNROLL for (uint slice = 0; slice < KEY_SLICES; slice++) {
        UNROLL for (uint c = 0; c < VALUE_MATRICES; c++) {
            RightMatrix v_part[BF16X3_PARTS];
            UNROLL for (uint part = 0; part < BF16X3_PARTS; part++) {
                coopMatLoad(v_part[part], stage,
                            V_STAGE + (part * TILE_KEYS + slice * MATRIX_DEPTH) * V_ROW + c * V_SLICE_WORDS, V_ROW,
                            gl_CooperativeMatrixLayoutRowMajor);
            }
            UNROLL for (uint r = first_matrix; r < ROW_MATRICES; r++) {
                const uint p_part = (r * KEY_SLICES + slice) * BF16X3_PARTS;
                ResultMatrix sum = ResultMatrix(0.0);
                sum = coopMatMulAdd(p_matrix[p_part + LOW], v_part[HIGH], sum);
                sum = coopMatMulAdd(p_matrix[p_part + MIDDLE], v_part[MIDDLE], sum);
                sum = coopMatMulAdd(p_matrix[p_part + HIGH], v_part[LOW], sum);
                sum = coopMatMulAdd(p_matrix[p_part + MIDDLE], v_part[HIGH], sum);
                sum = coopMatMulAdd(p_matrix[p_part + HIGH], v_part[MIDDLE], sum);
                sum = coopMatMulAdd(p_matrix[p_part + HIGH], v_part[HIGH], sum);
                o_matrix[r * VALUE_MATRICES + c] = o_matrix[r * VALUE_MATRICES + c] + sum;
            }
            if (c == (VALUE_MATRICES - 1) / 2 && slice + 1 < KEY_SLICES) {
                makeProbabilities(slice + 1, first_matrix);
            }
        }
    }
}

// An m past this magnitude leaves exponents with too few bits (exponent): 2^26, in units of log2.
#define LARGE_MAXIMUM 67108864.0

// Makes plain arithmetic compute all again, if a number did not fit into parts or a row's scores are too large. One
// test at the end of the kernel is cheaper than one for each tile.
void endSpecialValues() {
    bool unfit = largest_magnitude >= TOO_LARGE;
    UNROLL for (uint i = 0; i < OWN_ROWS; i++) {
        unfit = unfit || (abs(m_row[i]) > LARGE_MAXIMUM && m_row[i] != BEFORE_ANY_KEY);
    }
    if (unfit) {
        VKF_SET_BUFFER_FLAG(Bf16x3TableAt(optionalInputs()).table.fallback, 1u);
    }
}

#include "coopmat/tile_walk.glsl" // computeScores: 8, 9; the order of the tiles.
#include "coopmat/tile_loop.glsl" // attend: 6 to 11.
#include "coopmat/main.glsl"
