// SPDX-License-Identifier: MIT
//
// Unfused attention on cooperative matrices, first of three passes: makes S, the scores q k^T with scale and softcap,
// in fp32. Rows and columns of S are padded to whole matrices. One workgroup makes one tile. The tile may hold scores
// of keys that a row does not see. The second pass does not read these scores.
//
// S is fp32 although P has 16 bits. Half a unit in the last place of an fp16 score of 16, in units of log2, would be
// 0.5 % of its probability.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

#include "common/compilers.glsl"
#include "shared/attention_params.h"
#define VKF_PUSH_CONSTANTS StandardScoresParams
#define VKF_LANES_ID VKF_ID_SUBGROUP_LANES
#include "common/params.glsl"
layout(constant_id = VKF_ID_STEP_DIM) const uint STEP_DIM4 = 8;
#include "matrix/matrix_tile.glsl"

const uint COLUMN_MATRICES = KEY_MATRICES;
const uint A_WORDS = STEP_DIM4 / 2;
const uint B_ROWS = TILE_KEYS;
const uint B_WORDS = A_WORDS;
const bool B_IN_COLUMNS = true; // rows of k are columns of k^T
const uint DIM_STEPS = (HEAD_DIM + STEP_DIM4 * 4 - 1) / (STEP_DIM4 * 4);

#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "scores/final_score.glsl"
#include "standard/matrix_product.glsl"

layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer ScoreWords {
    uvec4 word[];
};

void storeScores(const Item item, const uint key_begin, const uint subgroup) {
    uvec2 head = headAddress(params.s, VKF_S, item.batch, item.head);
    uint first_row = item.row_begin + subgroup * SUBGROUP_ROWS;
    UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
        UNROLL for (uint c = 0; c < COLUMN_MATRICES; c++) {
            UNROLL for (uint e = 0; e < ELEMENTS; e++) {
                sum_matrix[r * COLUMN_MATRICES + c][e] = finalScore(sum_matrix[r * COLUMN_MATRICES + c][e]);
            }
            uint row = first_row + r * MATRIX_ROWS;
            uint key = key_begin + c * MATRIX_COLUMNS;
            if (row < params.query_rows && key < params.keys) {
                uvec2 address = add64(rowAddress(head, VKF_S, row), uvec2(key * 4, 0));
                coopMatStore(sum_matrix[r * COLUMN_MATRICES + c], ScoreWords(address).word, 0,
                             params.row_stride[VKF_S] / 16, gl_CooperativeMatrixLayoutRowMajor);
            }
        }
    }
}

void main() {
    uint thread = threadIndex();
    uint subgroup = thread / LANES;
    uint key_tiles = VKF_TILES(params.keys, TILE_KEYS);
    uint number = params.first_item + gl_WorkGroupID.x;
    uint key_begin = number % key_tiles * TILE_KEYS;
    Item item = itemOf(number / key_tiles);
    TileMask mask = tileMask(item);
    if (int(key_begin) >= mask.any.y || int(key_begin + TILE_KEYS) <= mask.any.x) {
        return; // no row of the tile sees these keys
    }

    HalfRows q = halfRowsOf(params.q, VKF_Q, item, params.query_rows);
    HalfRows k = halfRowsOf(params.k, VKF_K, item, item.keys);
    clearProduct();
    fetchA(q, item.row_begin, 0, HEAD_DIM, TYPE_Q, WHOLE_WORDS, thread);
    fetchB(k, key_begin, 0, HEAD_DIM, WHOLE_WORDS, thread);
    KEEP_LOOP for (uint step = 0; step < DIM_STEPS; step++) {
        stageStep(thread);
        barrier();
        IF_KEEPING_LOADS_HERE (step + 1 < DIM_STEPS) {
            uint column = (step + 1) * STEP_DIM4 * 4;
            fetchA(q, item.row_begin, column, HEAD_DIM, TYPE_Q, WHOLE_WORDS, thread);
            fetchB(k, key_begin, column, HEAD_DIM, WHOLE_WORDS, thread);
        } else {
            forgetStep();
        }
        multiplyStep(subgroup);
        barrier(); // the readers of the step are done
    }
    storeScores(item, key_begin, subgroup);
}
