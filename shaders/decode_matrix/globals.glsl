// SPDX-License-Identifier: MIT
//
// All mutable variables of the decode kernel on matrices, and the rows and keys of it that belong to a lane.
// decode_matrix/lane_chunks.glsl has the variables of block types. decode_matrix/transpose.glsl and
// decode_matrix/join.glsl have their shared memory.
#ifndef VKF_DECODE_MATRIX_GLOBALS_GLSL
#define VKF_DECODE_MATRIX_GLOBALS_GLSL

// The position of the invocation, and what it works on. main sets these variables once.
Item item;
uint thread, subgroup, lane;
uvec2 lane_position;
uint first_row; // the first packed row of the subgroup
uvec2 k_head, v_head;
uvec2 keys; // keys [x, y) of this split

// Words in flight from memory.
uint pages_k[LEFT_FRAGMENT_ROWS]; // entries of the block table for the keys to be fetched next
uint pages_v[VALUE_KEYS];
uint largest_entry = 0u; // of all these entries
// Entries of the list of chosen keys for the present tile, in which all tiles are partial.
uint entries_k[HAS_CHOSEN_KEYS ? LEFT_FRAGMENT_ROWS : 1];
uint entries_v[HAS_CHOSEN_KEYS ? VALUE_KEYS : 1];
uvec4 fetched_k[LEFT_FRAGMENT_ROWS * K_LANE_WORDS];
uvec4 fetched_v[VALUE_KEYS * V_LANE_WORDS];
// The state of the algorithm.
RightMatrix q_matrix[ROW_MATRICES * DIM_MATRICES];
ResultMatrix s_matrix[ROW_MATRICES];
RightMatrix p_matrix[OUTPUT_MATRICES * P_MATRICES];
ResultMatrix o_matrix[OUTPUT_MATRICES * VALUE_MATRICES];
float m_row[LANE_ROWS];
float l_row[LANE_ROWS]; // running sum over this lane's keys
float row_factor[LANE_ROWS];
float slope_row[LANE_ROWS];
RowDropout dropout_row[HAS_DROPOUT ? LANE_ROWS : 1];
vec4 tile_maximum[LANE_ROW_VEC4S]; // over the present tile, four rows each

// Which column of a pair, and which row of p for a key, this lane has where column pairs are split.
uint splitColumn() {
    return lane_position.y % 2;
}

// Whether no lane before this one has the same rows for the same keys.
bool ownsRows() {
    return !SPLIT_COLUMN_PAIRS || splitColumn() == 0;
}

// The subgroup's row that is lane row `lane_row` of this invocation.
uint subgroupRow(const uint lane_row) {
    return lane_row * LANE_ROW_STRIDE + (SPLIT_COLUMN_PAIRS ? lane_position.y / 2 : lane & COLUMN_LANES);
}

// The key of the subgroup's tile whose k and scores are in a fragment row of this lane.
uint fragmentKey(const uint fragment_row) {
    return lane_position.x + fragmentRow(fragment_row);
}

// How far the key of this lane's v number `number` is after that of its first v.
uint valueKeyOffset(const uint number) {
    return number / P_LANE_KEYS * P_MATRIX_KEYS + elementPosition(number % P_LANE_KEYS * LANE_COLUMNS).y / KEY_COLUMNS;
}

// The key of the subgroup's tile whose v is number `number` of this lane's.
uint valueKey(const uint number) {
    return lane_position.y / KEY_COLUMNS + valueKeyOffset(number);
}

// Lines 10 and 12: multiplies each row of o by its row_factor.
void scaleOutput() {
    UNROLL for (uint matrix = 0; matrix < OUTPUT_MATRICES * VALUE_MATRICES; matrix++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            const uint lane_row = laneRowOfOutput(matrix / VALUE_MATRICES, e);
            if (lane_row < LANE_ROWS) {
                o_matrix[matrix][e] *= row_factor[lane_row];
            }
        }
    }
}

#endif
