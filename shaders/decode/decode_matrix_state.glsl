// SPDX-License-Identifier: MIT
//
#ifndef VKF_DECODE_MATRIX_STATE_GLSL
#define VKF_DECODE_MATRIX_STATE_GLSL

Item item;
uint thread, subgroup, lane;
uvec2 lane_place;
uint first_row; // packed, of the subgroup
uvec2 k_head, v_head;
uvec2 keys; // of this split

uint pages_k[LEFT_SLOTS]; // of the keys to be fetched next
uint pages_v[SLOT_ELEMENTS];
uvec4 fetched_k[LEFT_SLOTS * K_LANE_WORDS];
uvec4 fetched_v[SLOT_ELEMENTS * V_LANE_WORDS];
RightMatrix q_tile[ROW_TILES * DIM_TILES];
ResultMatrix s_tile[ROW_TILES];
RightMatrix p_tile[ROW_TILES];
ResultMatrix o_tile[ROW_TILES * VALUE_TILES];
float m_row[STATES];
float l_row[STATES]; // of this lane's keys
float row_factor[STATES];
float slope_row[STATES];
RowDropout dropout_row[HAS_DROPOUT ? STATES : 1];
vec4 tile_maximum[STATE_FOURS]; // of the present scores, four rows each

// Row of the subgroup that a state is of.
uint stateRow(const uint state) {
    return state * DEPTH_LANES + (lane & COLUMN_LANES);
}

// Key of the subgroup's tile that this lane has the k of, and the scores.
uint slotKey(const uint slot) {
    return lane_place.x + slotRow(slot);
}

// Key that this lane has the v of.
uint valueKey(const uint element) {
    return lane_place.y + elementPlace(element).y;
}

// o of each row times its row_factor.
void scaleOutput() {
    UNROLL for (uint tile = 0; tile < ROW_TILES * VALUE_TILES; tile++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            const uint state = stateOf(tile / VALUE_TILES, e);
            if (state < STATES) {
                o_tile[tile][e] *= row_factor[state];
            }
        }
    }
}

#endif
