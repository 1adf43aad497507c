// SPDX-License-Identifier: MIT
//
// Writes the sums of a subgroup, without rows and columns that do not exist. Two matrices at a time pass through the
// subgroup's part of shared memory, where every element has a known row and column.
//
// Needs: backward_coopmat/globals.glsl, backward_coopmat/special_sums.glsl, backward/walk.glsl,
// backward/backward_table.glsl, common/element.glsl, scores/dropout.glsl. Provides: storeSums.
#ifndef VKF_STORE_MATRICES_GLSL
#define VKF_STORE_MATRICES_GLSL

const uint MATRIX_WORDS = MATRIX_ROWS * MATRIX_COLUMNS / 4; // words of a matrix in fp32
const uint STORED_MATRICES = 2;                             // at once; SUBGROUP_WORDS is large enough for them

// Stores four columns of an owned place of dq or dk. `states`: of the rows.
void storeHeads(const BackwardRows rows, const uvec2 states, const float factor, const uint place, const uint column,
                const vec4 sum) {
    uint row = ownedBegin() + place;
    if (row >= (OWNS_KEYS ? stored_keys : SEQUENCE_ROWS(item)) || column >= HEAD_DIM) {
        return;
    }
    const uint type = OWNS_KEYS ? TYPE_DK : TYPE_DQ;
    bool empty = !OWNS_KEYS && loadRowState(states, item, row).x == PLUS_INFINITY;
    uvec2 address = backwardRow(rows, row);
    storeRow4(address, column, HEAD_DIM, type, isAligned4(address, 0, type), empty ? vec4(0.0) : sum * factor);
}

// Stores four columns of an owned key of dv.
void storeValues(const BackwardRows rows, const uint place, const uint column, const vec4 sum) {
    uint key = key_begin + place;
    if (key >= stored_keys || column >= VALUE_DIM) {
        return;
    }
    uvec2 address = backwardRow(rows, key);
    storeRow4(address, column, VALUE_DIM, TYPE_DV, isAligned4(address, 0, TYPE_DV), sum * scaledByDropout(1.0));
}

// The outer loop stays a loop, and the loop inside selects its matrices by comparing numbers: coopmat/store.glsl
// gives the reasons.
void storeSums() {
    bool special = UNIFORM_BY_VOTE(special_values);
    uint begin = subgroup * SUBGROUP_WORDS;
    float factor = VKF_BACKWARD_TABLE.scale / ds_factor;
    uvec2 states = VKF_BACKWARD_TABLE.row_state;
    BackwardRows head_rows, value_rows;
    if (OWNS_KEYS) {
        head_rows = backwardRows(VKF_BACKWARD_TABLE.dk, item.partial_result, item.kv_head, item.first_key);
        value_rows = backwardRows(VKF_BACKWARD_TABLE.dv, item.partial_result, item.kv_head, item.first_key);
    } else {
        head_rows = backwardRows(VKF_BACKWARD_TABLE.dq, item.partial_result, item.head, item.first_row);
    }
    KEEP_LOOP for (uint first = 0; first < SUMS; first += STORED_MATRICES) {
        UNROLL for (uint i = 0; i < SUMS; i++) {
            if (i / STORED_MATRICES == first / STORED_MATRICES) {
                coopMatStore(sum_tile[i], stage, begin + i % STORED_MATRICES * MATRIX_WORDS, MATRIX_COLUMNS / 4,
                             gl_CooperativeMatrixLayoutRowMajor);
            }
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        UNROLL for (uint i = 0; i < STORED_MATRICES * MATRIX_WORDS / LANES; i++) {
            uint place = i * LANES + lane;
            uint matrix = first + place / MATRIX_WORDS;
            bool heads = matrix >= FIRST_HEAD_SUM;
            uint number = heads ? matrix - FIRST_HEAD_SUM : matrix;
            uint columns = heads ? HEAD_COLUMNS : VALUE_COLUMNS;
            uint owned = ownedFirst() + number / columns * MATRIX_ROWS +
                         place % MATRIX_WORDS / (MATRIX_COLUMNS / 4);
            uint column = (columnShare() * columns + number % columns) * MATRIX_COLUMNS + place % (MATRIX_COLUMNS / 4) * 4;
            vec4 sum = uintBitsToFloat(stage[begin + place]);
            if (special && OWNS_KEYS && !heads && key_begin + owned < item.keys) {
                sum += specialValues(key_begin + owned, column);
            }
            if (special && !OWNS_KEYS && item.row_begin + owned < SEQUENCE_ROWS(item)) {
                sum += specialHeads(item.row_begin + owned, column);
            }
            if (heads && matrix < SUMS) {
                storeHeads(head_rows, states, factor, owned, column, sum);
            } else if (!heads) {
                storeValues(value_rows, owned, column, sum);
            }
        }
        subgroupBarrier();
    }
}

#endif
