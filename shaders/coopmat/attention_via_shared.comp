// SPDX-License-Identifier: MIT
//
// The kernel of attention_coopmat.comp for devices whose element layout of matrices is unknown: elements pass through
// shared memory. The subgroup stores a row of score matrices there. Each invocation then reads the elements that a
// known element layout gives it. Probabilities and row factors go back in the same way. In our layout a fragment row is
// as many consecutive columns as possible, at least four. All else is the same.
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
#define VKF_VIA_SHARED
#define VKF_SPREADS_ROWS MAY_SPREAD_ROWS
#define VKF_FETCHES_AHEAD MAY_FETCH_AHEAD

#include "coopmat/prelude.glsl"
#include "matrix/special_values.glsl" // infinity and NaN in v.
#include "matrix/half_rows.glsl"
#include "coopmat/tile.glsl"            // sizes, and the rows of a subgroup.
#include "coopmat/halves.glsl"          // operands of 16 bits.
#include "coopmat/globals.glsl"         // all mutable variables.
#include "coopmat/stage.glsl"           // fetchTile, stageTile: 7.
#include "coopmat/deferred_scores.glsl" // exponent, takeProbability.
#include "matrix/subgroup_stage.glsl"

// SCORE and makeProbabilities: line 9 of the algorithm.

float score[ROW_MATRICES * KEY_MATRICES *
            ELEMENTS]; // the invocation's scores, taken out of s_matrix; then its probabilities
const uint VIA_SHARED_WORDS = VKF_VIA_SHARED_WORDS(MATRIX_ROWS, TILE_KEYS); // words of a subgroup
shared uvec4 via_shared[SUBGROUPS * VIA_SHARED_WORDS];  // scores and probabilities of one row of matrices
const uint S_ROW = VKF_VIA_SHARED_ROW_WORDS(TILE_KEYS); // words from row to row
const uint P_ROW = TILE_KEYS / 8 + 1;
#define SCORE(matrix, element) score[(matrix)*ELEMENTS + (element)]

// Copies the invocation's scores from s_matrix to `score`.
void takeScores() {
    uint begin = subgroup * VIA_SHARED_WORDS;
    uvec2 position = lanePosition(lane);
    UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
        stageBarrier();
        UNROLL for (uint key = 0; key < KEY_MATRICES; key++) {
            coopMatStore(s_matrix[r * KEY_MATRICES + key], via_shared, begin + key * MATRIX_COLUMNS / 4, S_ROW,
                         gl_CooperativeMatrixLayoutRowMajor);
        }
        stageBarrier();
        UNROLL for (uint key = 0; key < KEY_MATRICES; key++) {
            UNROLL for (uint e = 0; e < ELEMENTS; e += 4) {
                uvec2 step = elementPosition(e);
                vec4 x = uintBitsToFloat(via_shared[begin + position.x * S_ROW + position.y / 4 +
                                                    (step.x * S_ROW + (key * MATRIX_COLUMNS + step.y) / 4)]);
                UNROLL for (uint i = 0; i < 4; i++) {
                    SCORE(r * KEY_MATRICES + key, e + i) = x[i];
                }
            }
        }
    }
}

// Probabilities [e, e + 4) of a matrix in 16 bits, as they lie in memory.
uvec2 packProbabilities4(const uint matrix, const uint e) {
    return uvec2(packProbabilities(SCORE(matrix, e), SCORE(matrix, e + 1)),
                 packProbabilities(SCORE(matrix, e + 2), SCORE(matrix, e + 3)));
}

// Stores the probabilities of one row of matrices to shared memory: in words, or in half words where a fragment row has
// four elements.
void stageProbabilities(const uint r, const uint begin) {
    uvec2 position = lanePosition(lane);
    UNROLL for (uint key = 0; key < KEY_MATRICES; key++) {
        uint matrix = r * KEY_MATRICES + key;
        UNROLL for (uint e = 0; e < ELEMENTS; e += min(FRAGMENT_ROW_ELEMENTS, 8)) {
            uvec2 step = elementPosition(e);
            uint word =
                begin + position.x * P_ROW + position.y / 8 + (step.x * P_ROW + (key * MATRIX_COLUMNS + step.y) / 8);
            if (FRAGMENT_ROW_ELEMENTS % 8 == 0) {
                via_shared[word] = uvec4(packProbabilities4(matrix, e), packProbabilities4(matrix, e + 4));
            } else {
                uvec2 half_word = packProbabilities4(matrix, e);
                via_shared[word][position.y / 4 % 2 * 2] = half_word.x;
                via_shared[word][position.y / 4 % 2 * 2 + 1] = half_word.y;
            }
        }
    }
}

// Line 9 of the algorithm: makes p_matrix for all slices at once, and adds the probabilities to l_i. The probabilities
// overwrite the scores.
void makeHalfProbabilities(const uint slice, const uint first_matrix) {
    if (slice != 0) {
        return;
    }
    const uint first_score = first_matrix * KEY_MATRICES * ELEMENTS;
    UNROLL for (uint i = first_score; i < ROW_MATRICES * KEY_MATRICES * ELEMENTS; i++) {
        const uint row = rowOf(i / ELEMENTS, i % ELEMENTS);
        const uint key = elementKey(i / ELEMENTS % KEY_MATRICES, i);
        score[i] = takeProbability(exponent(score[i], m_row[row], row, key), row, key);
    }
    uint begin = subgroup * VIA_SHARED_WORDS;
    UNROLL for (uint r = first_matrix; r < ROW_MATRICES; r++) {
        stageBarrier();
        stageProbabilities(r, begin);
        stageBarrier();
        UNROLL for (uint d = 0; d < KEY_SLICES; d++) {
            coopMatLoad(p_matrix[r * KEY_SLICES + d], via_shared, begin + d * SLICE_WORDS, P_ROW,
                        gl_CooperativeMatrixLayoutRowMajor);
        }
    }
}

// Sets `factors`: each row_factor in all columns of its row.
void makeFactors() {
    uint begin = subgroup * VIA_SHARED_WORDS;
    uvec2 position = lanePosition(lane);
    stageBarrier();
    UNROLL for (uint e = 0; e < ELEMENTS; e += 4) {
        uvec2 at = position + elementPosition(e);
        via_shared[begin + (at.x * MATRIX_COLUMNS + at.y) / 4] =
            floatBitsToUint(vec4(row_factor[e / FRAGMENT_ROW_ELEMENTS]));
    }
    stageBarrier();
    coopMatLoad(factors, via_shared, begin, MATRIX_COLUMNS / 4, gl_CooperativeMatrixLayoutRowMajor);
}

#include "coopmat/output.glsl"    // normalize: 12, 13.
#include "coopmat/begin.glsl"     // loadQueries: 4; clearState: 5.
#include "coopmat/scores.glsl"    // fetchBias; softcap, ALiBi and bias: 8.
#include "coopmat/softmax.glsl"   // masks, rescale: 9.
#include "coopmat/tile_walk.glsl" // computeScores: 8, 9; the order of the tiles.
#include "coopmat/tile_loop.glsl" // attend: 6 to 11.
#include "coopmat/main.glsl"
