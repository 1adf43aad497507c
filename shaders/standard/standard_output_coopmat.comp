// SPDX-License-Identifier: MIT
//
// Unfused attention on cooperative matrices, last of three passes: o = P v / l. This pass reads P and l from memory. P
// has the type of v, and its rows are padded to whole steps of keys. One workgroup makes one tile of query rows.
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
#define VKF_PUSH_CONSTANTS StandardOutputParams
#define VKF_LANES_ID VKF_ID_SUBGROUP_LANES
#include "common/params.glsl"
layout(constant_id = VKF_ID_STEP_KEYS) const uint STEP_KEYS = 32;
layout(constant_id = VKF_ID_TYPE_P) const uint TYPE_P = VKF_STORED_F32;
#include "matrix/matrix_tile.glsl"

const uint COLUMN_MATRICES = VALUE_MATRICES;
const uint A_WORDS = STEP_KEYS / 8;
const uint B_ROWS = STEP_KEYS;
const uint B_WORDS = VALUE_MATRICES * MATRIX_COLUMNS / 8;
const bool B_IN_COLUMNS = false;

#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/block_mask.glsl"
#include "standard/matrix_product.glsl"
#include "matrix/special_values.glsl"
#include "standard/standard_p.glsl"

const uint MATRIX_WORDS = MATRIX_ROWS * MATRIX_COLUMNS / 4; // words of a matrix in fp32

// Replaces infinite values and NaN by zeros, in a partial tile (matrix/special_values.glsl).
void makeFinite() {
    UNROLL for (uint i = 0; i < B_FETCHES; i++) {
        fetched_b[i] = finiteHalves(fetched_b[i]);
    }
}

// Stores the matrix that lies in the subgroup's part of the stage. Rows and columns that do not exist are left out.
void storeStaged(const Item item, const HalfRows v, const uint first_row, const uint first_column, const uint begin,
                 const uint lane) {
    uvec2 head = headAddress(params.o, VKF_O, item.batch, item.head);
    bool aligned4 = isAligned4(head, params.row_stride[VKF_O], TYPE_O);
    UNROLL for (uint i = 0; i < (MATRIX_WORDS + LANES - 1) / LANES; i++) {
        uint index = i * LANES + lane;
        uint row = first_row + index / (MATRIX_COLUMNS / 4);
        uint column = first_column + index % (MATRIX_COLUMNS / 4) * 4;
        if (index < MATRIX_WORDS && row < params.query_rows && column < VALUE_DIM) {
            float factor = rowFactor(loadRowState(params.row_state, item, row).y);
            vec4 o = factor < 0.0 ? vec4(0.0) : uintBitsToFloat(stage[begin + index]) * factor;
            if (special_values != 0u && !(factor < 0.0)) {
                o += specialValues(item, v.address, row, column);
            }
            storeRow4(rowAddress(head, VKF_O, row), column, VALUE_DIM, TYPE_O, aligned4, o);
        }
    }
}

// The loop over matrices stays a loop, so that the code that stores exists once. The unrolled loop inside selects its
// matrix by comparing numbers: matrices that a variable indexes live in memory (docs/kernel_rules.md, "Loops over
// matrices count to a constant").
void storeOutput(const Item item, const HalfRows v, const uint subgroup, const uint lane) {
    uint begin = subgroup * MATRIX_WORDS;
    KEEP_LOOP for (uint matrix = 0; matrix < ROW_MATRICES * COLUMN_MATRICES; matrix++) {
        UNROLL for (uint i = 0; i < ROW_MATRICES * COLUMN_MATRICES; i++) {
            if (i == matrix) {
                coopMatStore(sum_matrix[i], stage, begin, MATRIX_COLUMNS / 4, gl_CooperativeMatrixLayoutRowMajor);
            }
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        uint first_row = item.row_begin + subgroup * SUBGROUP_ROWS + matrix / COLUMN_MATRICES * MATRIX_ROWS;
        storeStaged(item, v, first_row, matrix % COLUMN_MATRICES * MATRIX_COLUMNS, begin, lane);
        subgroupBarrier();
    }
}

void main() {
    uint thread = threadIndex();
    uint subgroup = thread / LANES;
    Item item = itemOf(params.first_item + gl_WorkGroupID.x);
    HalfRows p = halfRowsOf(params.p, VKF_P, item, params.query_rows);
    HalfRows v = halfRowsOf(params.v, VKF_V, item, item.keys);
    uint p_columns = (params.keys + STEP_KEYS - 1) / STEP_KEYS * STEP_KEYS;
    TileMask mask = tileMask(item);
    if (thread == 0) {
        special_values = 0u;
    }
    barrier();

    clearProduct();
    if (mask.any.x < mask.any.y) {
        uint key_begin = uint(mask.any.x) / STEP_KEYS * STEP_KEYS;
        fetchA(p, item.row_begin, key_begin, p_columns, TYPE_P, true, thread);
        fetchB(v, key_begin, 0, VALUE_DIM, WHOLE_WORDS, thread);
        KEEP_LOOP for (; int(key_begin) < mask.any.y; key_begin += STEP_KEYS) {
            if (OR_KEEP(isPartial(mask, key_begin, key_begin + STEP_KEYS))) {
                makeFinite();
            }
            stageStep(thread);
            barrier();
            IF_KEEPING_LOADS_HERE (int(key_begin + STEP_KEYS) < mask.any.y) {
                fetchA(p, item.row_begin, key_begin + STEP_KEYS, p_columns, TYPE_P, true, thread);
                fetchB(v, key_begin + STEP_KEYS, 0, VALUE_DIM, WHOLE_WORDS, thread);
            } else {
                forgetStep();
            }
            multiplyStep(subgroup);
            barrier(); // the readers of the step are done
        }
    }
    storeOutput(item, v, subgroup, thread % LANES);
}
