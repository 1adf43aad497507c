// SPDX-License-Identifier: MIT
//
// The end of the decode kernel on cooperative matrices: what the subgroups of a workgroup have of each row
// becomes one (o, lse), in the order of the subgroups, and is stored.
#ifndef VKF_DECODE_MATRIX_JOIN_GLSL
#define VKF_DECODE_MATRIX_JOIN_GLSL

const uint STAGE_COLUMNS = VKF_DECODE_STAGE_COLUMNS(ROW_LANES); // of o in the words of one number
const uint MATRIX_FLOATS = MATRIX_ROWS * MATRIX_COLUMNS;
const uint STATES = SUBGROUPS * MATRIX_ROWS;

shared float o_stage[VKF_DECODE_STAGE_FLOATS(SUBGROUPS, WORD_COLUMNS, MATRIX_ROWS, MATRIX_COLUMNS)];
shared vec2 state_stage[STATES];     // m and l
shared vec2 joined_stage[TILE_ROWS]; // m and 1 / l over all subgroups that share keys, or 0

uint tileRow(uint slot) {
    return lane_place.x + slotRow(slot); // of the subgroup
}

// Of whole rows of the subgroup's keys.
void stageStates() {
    vec4 l[SLOT_FOURS];
    UNROLL for (uint i = 0; i < SLOT_FOURS; i++) {
        l[i] = vec4(0.0);
    }
    UNROLL for (uint slot = 0; slot < SLOTS; slot++) {
        l[slot / 4][slot % 4] = l_row[slot];
    }
    UNROLL for (uint i = 0; i < SLOT_FOURS; i++) {
        l[i] = sumOverColumns(l[i]);
    }
    UNROLL for (uint slot = 0; slot < SLOTS; slot++) {
        if ((lane & COLUMN_LANES) == 0) {
            state_stage[subgroup * MATRIX_ROWS + tileRow(slot)] = vec2(m_row[slot], l[slot / 4][slot % 4]);
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

void joinStates() {
    [[dont_unroll]] for (uint row = thread; row < TILE_ROWS; row += WORKGROUP_SIZE) {
        vec2 joined = joinedState(row);
        joined_stage[row] = vec2(joined.x, joined.y == 0.0 ? 0.0 : 1.0 / joined.y);
        uint packed_row = item.row_begin + row;
        if (HAS_LSE && packed_row < packedRows()) {
            Item of_row = item;
            of_row.head = queryHead(item, packed_row);
            storeLse(of_row, queryRow(packed_row), joined.x, joined.y);
        }
    }
}

// Brings o to the unit of the whole row and divides it by its l.
void normalize() {
    UNROLL for (uint slot = 0; slot < SLOTS; slot++) {
        vec2 joined = joined_stage[subgroup / KEY_SUBGROUPS * MATRIX_ROWS + tileRow(slot)];
        row_factor[slot] = exp2(m_row[slot] - joined.x) * joined.y;
    }
    scaleOutput();
}

// One column of those staged, where the order in which words fill matrices has brought it.
float stagedColumn(uint from_subgroup, uint row, uint column) {
    uint of_word = column % 8;
    uint matrix = from_subgroup * WORD_COLUMNS + of_word / SLOTS;
    return o_stage[matrix * MATRIX_FLOATS + row * MATRIX_COLUMNS + of_word % SLOTS * ROW_LANES + column / 8];
}

// Columns of o that lie in words of this number: staged by every subgroup, added up and stored by the workgroup.
void storeWord(uint word) {
    UNROLL for (uint i = 0; i < WORD_COLUMNS; i++) {
        coopMatStore(o_tile[word * WORD_COLUMNS + i], o_stage, (subgroup * WORD_COLUMNS + i) * MATRIX_FLOATS,
                     MATRIX_COLUMNS, gl_CooperativeMatrixLayoutRowMajor);
    }
    barrier();
    const uint fours = STAGE_COLUMNS / 4;
    bool special = special_values != 0u;
    [[dont_unroll]] for (uint place = thread; place < ROW_SUBGROUPS * STAGED_ROWS * fours; place += WORKGROUP_SIZE) {
        uint row = place / fours; // of those staged
        uint column = word * STAGE_COLUMNS + place % fours * 4;
        uint packed_row = item.row_begin + row / STAGED_ROWS * MATRIX_ROWS + row % STAGED_ROWS;
        if (packed_row >= packedRows() || column >= VALUE_DIM) {
            continue;
        }
        vec4 o = vec4(0.0);
        for (uint i = 0; i < KEY_SUBGROUPS; i++) {
            uint from = row / STAGED_ROWS * KEY_SUBGROUPS + i;
            uint staged = place % fours * 4;
            o += vec4(stagedColumn(from, row % STAGED_ROWS, staged), stagedColumn(from, row % STAGED_ROWS, staged + 1),
                      stagedColumn(from, row % STAGED_ROWS, staged + 2),
                      stagedColumn(from, row % STAGED_ROWS, staged + 3));
        }
        if (special) {
            o += specialValues(item, v_head, queryRow(packed_row), column);
        }
        uvec2 head = headAddress(params.o, VKF_O, item.part, queryHead(item, packed_row));
        storeRow4(rowAddress(head, VKF_O, queryRow(packed_row)), column, VALUE_DIM, TYPE_O,
                  isAligned4(head, params.row_stride[VKF_O], TYPE_O), o);
    }
    barrier(); // the readers of o_stage are done
}

void writeResults() {
    stageStates();
    barrier();
    joinStates();
    barrier();
    normalize();
    // Matrices are named by constants, each number of words in code of its own: indexed by a variable they would live
    // in memory. More than four are on software drivers alone.
    storeWord(0);
    if (V_LANE_WORDS > 1) {
        storeWord(1);
    }
    if (V_LANE_WORDS > 2) {
        storeWord(2);
    }
    if (V_LANE_WORDS > 3) {
        storeWord(3);
    }
    [[dont_unroll]] for (uint word = 4; word < V_LANE_WORDS; word++) {
        storeWord(word);
    }
}

#endif
