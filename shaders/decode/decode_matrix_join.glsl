// SPDX-License-Identifier: MIT
//
// Lines 12 to 15 of the algorithm (attention_decode_matrix.comp): joins the partial results of the workgroup's
// subgroups, in their order, and stores (o, lse) of each row.
//
// Needs: decode/decode_matrix_state.glsl, decode/decode_matrix_turn.glsl (sumOverKeys),
// decode/decode_block_columns.glsl, common/address.glsl, common/element.glsl, scores/final_score.glsl,
// scores/sink.glsl, scores/dropout.glsl, matrix/special_values.glsl.
// Provides: writeResults.
#ifndef VKF_DECODE_MATRIX_JOIN_GLSL
#define VKF_DECODE_MATRIX_JOIN_GLSL

const uint VALUE_FOURS = (VALUE_DIM + 3) / 4;
const uint STAGED_ROW = VKF_DECODE_STAGED_ROW(V_LANE_WORDS * 8 * ROW_LANES);

// o of one state in each lane, as pairs of columns.
shared vec2 o_stage[SUBGROUPS * DEPTH_LANES * STAGED_ROW];
shared vec2 state_stage[SUBGROUPS * SUBGROUP_ROWS]; // m and l

// Stages m and l of each row over the keys of the subgroup.
void stageStates() {
    vec4 l[STATE_FOURS];
    UNROLL for (uint i = 0; i < STATE_FOURS; i++) {
        l[i] = vec4(0.0);
    }
    UNROLL for (uint state = 0; state < STATES; state++) {
        l[state / 4][state % 4] = l_row[state];
    }
    UNROLL for (uint i = 0; i < STATE_FOURS; i++) {
        l[i] = sumOverKeys(l[i]);
    }
    UNROLL for (uint state = 0; state < STATES; state++) {
        if (lane_place.x == 0) {
            state_stage[subgroup * SUBGROUP_ROWS + stateRow(state)] = vec2(m_row[state], l[state / 4][state % 4]);
        }
    }
}

// m and l of a row of the tile over all subgroups that share its keys: m = max m_g, l = sum exp(m_g - m) l_g.
vec2 joinedState(const uint row) {
    uint first = row / SUBGROUP_ROWS * KEY_SUBGROUPS * SUBGROUP_ROWS + row % SUBGROUP_ROWS;
    vec2 state[KEY_SUBGROUPS];
    float m = BEFORE_ANY_KEY;
    UNROLL for (uint i = 0; i < KEY_SUBGROUPS; i++) {
        state[i] = state_stage[first + i * SUBGROUP_ROWS];
        m = max(m, state[i].x);
    }
    float l = 0.0;
    UNROLL for (uint i = 0; i < KEY_SUBGROUPS; i++) {
        l += state[i].y == 0.0 ? 0.0 : state[i].y * exp2(state[i].x - m);
    }
    return vec2(m, l);
}

// Stores lse of each row, and sets row_factor. row_factor scales o of the subgroup to the joined m and divides it by
// the joined l.
void joinStates() {
    bool stores = lane_place.x == 0 && subgroup % KEY_SUBGROUPS == 0;
    UNROLL for (uint state = 0; state < STATES; state++) {
        uint row = subgroup / KEY_SUBGROUPS * SUBGROUP_ROWS + stateRow(state);
        uint packed_row = item.row_begin + row;
        Item of_row = item;
        of_row.head = queryHead(item, packed_row);
        vec2 joined = joinedState(row);
        vec2 ended = ENDS_ROWS ? withSink(of_row.head, joined.x, joined.y).xy : joined;
        row_factor[state] = joined.y == 0.0 ? 0.0 : scaledByDropout(exp2(m_row[state] - ended.x) / ended.y);
        if (HAS_LSE && stores && packed_row < packedRows(item)) {
            storeLse(of_row, queryRow(packed_row), ended.x, ended.y);
        }
    }
}

// Stages columns 2i and 2i + 1 of one of this lane's words, for the row of `state`.
void stagePair(const uint state, const uint word, const uint i) {
    const uint row_tile = state / ROW_ELEMENTS;
    vec2 pair;
    UNROLL for (uint k = 0; k < 2; k++) {
        const uint column = 2 * i + k; // column of the word
        const uint tile = row_tile * VALUE_TILES + word * WORD_COLUMNS + column / LEFT_SLOTS;
        pair[k] = o_tile[tile][column % LEFT_SLOTS * ROW_ELEMENTS + state % ROW_ELEMENTS];
    }
    uint row_lane = lane / DEPTH_LANES;
    uint column = V_BLOCKS ? valueColumn(row_lane, word, 2 * i) : (word * ROW_LANES + row_lane) * 8 + 2 * i;
    o_stage[(subgroup * DEPTH_LANES + (lane & COLUMN_LANES)) * STAGED_ROW + column / 2] = pair * row_factor[state];
}

void stageRows(const uint state) {
    UNROLL for (uint i = 0; i < V_LANE_WORDS * 4; i++) {
        stagePair(state, i / 4, i % 4);
    }
}

// Four columns of a staged row, added up over the subgroups that share its keys.
vec4 stagedFour(const uint row_subgroup, const uint depth_lane, const uint four) {
    vec4 o = vec4(0.0);
    UNROLL for (uint i = 0; i < KEY_SUBGROUPS; i++) {
        uint from = ((row_subgroup * KEY_SUBGROUPS + i) * DEPTH_LANES + depth_lane) * STAGED_ROW + four * 2;
        o += vec4(o_stage[from], o_stage[from + 1]);
    }
    return o;
}

// Stores the staged rows. All invocations of the workgroup take part.
void storeRows(const uint state) {
    bool special = special_values != 0u;
    KEEP_LOOP for (uint place = thread; place < ROW_SUBGROUPS * DEPTH_LANES * VALUE_FOURS;
                         place += WORKGROUP_SIZE) {
        uint four = place % VALUE_FOURS;
        uint depth_lane = place / VALUE_FOURS % DEPTH_LANES;
        uint row_subgroup = place / VALUE_FOURS / DEPTH_LANES;
        uint packed_row = item.row_begin + row_subgroup * SUBGROUP_ROWS + state * DEPTH_LANES + depth_lane;
        if (packed_row >= packedRows(item)) {
            continue;
        }
        Item of_row = item;
        of_row.head = queryHead(item, packed_row);
        vec4 o = stagedFour(row_subgroup, depth_lane, four);
        if (special) {
            o += specialValues(of_row, v_head, queryRow(packed_row), four * 4);
        }
        uvec2 head = headAddress(params.o, VKF_O, item.partial_result, of_row.head, item.first_row);
        storeRow4(rowAddress(head, VKF_O, queryRow(packed_row)), four * 4, VALUE_DIM, TYPE_O,
                  isAligned4(head, params.row_stride[VKF_O], TYPE_O), o);
    }
}

// Stages and stores the rows of one state. A macro, because one more call would be deeper than NVIDIA's compiler
// inlines (docs/tuning.md, "Chains of calls").
#define WRITE_STATE(state) \
    stageRows(state);      \
    barrier();             \
    storeRows(state);

void writeResults() {
    stageStates();
    barrier();
    joinStates();
    // Each state has code of its own, so that constants index the matrices. Matrices that a variable indexes live in
    // memory.
    WRITE_STATE(0)
    if (STATES > 1) {
        barrier();
        WRITE_STATE(1)
    }
    if (STATES > 2) {
        barrier();
        WRITE_STATE(2)
    }
    if (STATES > 3) {
        barrier();
        WRITE_STATE(3)
    }
}

#endif
