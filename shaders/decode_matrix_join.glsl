// SPDX-License-Identifier: MIT
//
// The end of the decode kernel on cooperative matrices: what the subgroups of a workgroup have of each row
// becomes one (o, lse), in the order of the subgroups, and is stored.
#ifndef VKF_DECODE_MATRIX_JOIN_GLSL
#define VKF_DECODE_MATRIX_JOIN_GLSL

const uint STAGE_COLUMNS = VKF_DECODE_STAGE_COLUMNS(ROW_LANES);
const uint STAGE_ROW = STAGE_COLUMNS + 4; // padded, so that rows start in different banks
const uint STATES = SUBGROUPS * MATRIX_ROWS;

shared float o_stage[VKF_DECODE_STAGE_FLOATS(SUBGROUPS, STAGED_ROWS, ROW_LANES)];
shared vec2 state_stage[STATES]; // m and l

float o_factor[SLOTS]; // brings o to the unit of the whole row and divides it by its l

uint tileRow(uint slot) {
    return lanePlace(lane).x + slotRow(slot); // of the subgroup
}

void stageStates() {
    UNROLL for (uint slot = 0; slot < SLOTS; slot++) {
        l_row[slot] = sumOverColumns(l_row[slot]);
        if ((lane & COLUMN_LANES) == 0) {
            state_stage[subgroup * MATRIX_ROWS + tileRow(slot)] = vec2(m_row[slot], l_row[slot]);
        }
    }
}

// m and l of a row of the tile over all subgroups that share its keys.
vec2 joinedState(uint row) {
    uint first = row / MATRIX_ROWS * KEY_SUBGROUPS * MATRIX_ROWS + row % MATRIX_ROWS;
    float m = BEFORE_ANY_KEY;
    for (uint i = 0; i < KEY_SUBGROUPS; i++) {
        m = max(m, state_stage[first + i * MATRIX_ROWS].x);
    }
    float l = 0.0;
    for (uint i = 0; i < KEY_SUBGROUPS; i++) {
        vec2 state = state_stage[first + i * MATRIX_ROWS];
        l += state.y == 0.0 ? 0.0 : state.y * exp2(state.x - m);
    }
    return vec2(m, l);
}

// Columns of o that matrix `tile` has of a word, in the unit of the whole row and divided by its l.
void stageTile(uint tile) {
    UNROLL for (uint e = 0; e < ELEMENTS; e++) {
        uint n = elementPlace(e).y + lanePlace(lane).y;
        uint column = n % ROW_LANES * 8 + tile % WORD_COLUMNS * SLOTS + n / ROW_LANES;
        uint row = tileRow(e / SLOT_ELEMENTS);
        if (row < STAGED_ROWS) {
            o_stage[(subgroup * STAGED_ROWS + row) * STAGE_ROW + column] = o_tile[tile][e] * o_factor[e / SLOT_ELEMENTS];
        }
    }
}

void storeColumns(uint word) {
    const uint fours = STAGE_COLUMNS / 4;
    bool special = special_values != 0u;
    [[dont_unroll]] for (uint place = thread; place < ROW_SUBGROUPS * STAGED_ROWS * fours; place += WORKGROUP_SIZE) {
        uint row = place / fours; // of those staged
        uint column = word * STAGE_COLUMNS + place % fours * 4;
        uint packed_row = item.row_begin + row / STAGED_ROWS * MATRIX_ROWS + row % STAGED_ROWS;
        if (packed_row >= packedRows() || column >= VALUE_DIM) {
            continue;
        }
        uint begin = row / STAGED_ROWS * KEY_SUBGROUPS * STAGED_ROWS + row % STAGED_ROWS;
        vec4 o = vec4(0.0);
        for (uint i = 0; i < KEY_SUBGROUPS; i++) {
            uint at = (begin + i * STAGED_ROWS) * STAGE_ROW + place % fours * 4;
            o += vec4(o_stage[at], o_stage[at + 1], o_stage[at + 2], o_stage[at + 3]);
        }
        if (special) {
            o += specialValues(item, v_head, queryRow(packed_row), column);
        }
        uvec2 head = headAddress(params.o, VKF_O, item.part, queryHead(item, packed_row));
        storeRow4(rowAddress(head, VKF_O, queryRow(packed_row)), column, VALUE_DIM, TYPE_O,
                  isAligned4(head, params.row_stride[VKF_O], TYPE_O), o);
    }
}

void storeStates() {
    uint packed_row = item.row_begin + thread;
    if (HAS_LSE && thread < TILE_ROWS && packed_row < packedRows()) {
        vec2 joined = joinedState(thread);
        Item of_row = item;
        of_row.head = queryHead(item, packed_row);
        storeLse(of_row, queryRow(packed_row), joined.x, joined.y);
    }
}

void writeResults() {
    stageStates();
    barrier();
    storeStates();
    UNROLL for (uint slot = 0; slot < SLOTS; slot++) {
        vec2 joined = joinedState(subgroup / KEY_SUBGROUPS * MATRIX_ROWS + tileRow(slot));
        o_factor[slot] = joined.y == 0.0 ? 0.0 : exp2(m_row[slot] - joined.x) / joined.y;
    }
    // One copy of the code that stores: the loop over words stays a loop, and picks its matrices by comparing
    // numbers, because matrices indexed by a variable would live in memory.
    [[dont_unroll]] for (uint word = 0; word < V_LANE_WORDS; word++) {
        UNROLL for (uint tile = 0; tile < VALUE_TILES; tile++) {
            if (tile / WORD_COLUMNS == word) {
                stageTile(tile);
            }
        }
        barrier();
        storeColumns(word);
        barrier();
    }
}

#endif
