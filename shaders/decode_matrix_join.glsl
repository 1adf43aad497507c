// SPDX-License-Identifier: MIT
//
// The end of the decode kernel on cooperative matrices: what the subgroups of a workgroup have of each row
// becomes one (o, lse), in the order of the subgroups, and is stored.
#ifndef VKF_DECODE_MATRIX_JOIN_GLSL
#define VKF_DECODE_MATRIX_JOIN_GLSL

// Matrices of a word that are staged at once, for each matrix of rows. Where v is of a block type few registers let more
// workgroups run, if shared memory does.
const uint STAGED_MATRICES = VKF_DECODE_STAGED_MATRICES(WORD_COLUMNS, V_BLOCKS);
const uint STAGED_ELEMENTS = STAGED_MATRICES * LEFT_SLOTS; // of a word, all eight or four
const bool IN_HALVES = STAGED_ELEMENTS < 8;
const uint MATRIX_FLOATS = MATRIX_ROWS * MATRIX_COLUMNS;

// By columns of the matrices, which are query rows.
shared float o_stage[VKF_DECODE_STAGE_FLOATS(SUBGROUPS * ROW_TILES, STAGED_MATRICES, MATRIX_ROWS, MATRIX_COLUMNS)];
shared vec2 state_stage[SUBGROUPS * SUBGROUP_ROWS]; // m and l
shared vec2 joined_stage[TILE_ROWS];                // m and 1 / l over all subgroups that share keys, or 0

// Of whole rows of the subgroup's keys.
void stageStates() {
    vec4 l[STATE_FOURS];
    UNROLL for (uint i = 0; i < STATE_FOURS; i++) {
        l[i] = vec4(0.0);
    }
    UNROLL for (uint state = 0; state < ROW_STATES; state++) {
        l[state / 4][state % 4] = l_row[state];
    }
    UNROLL for (uint i = 0; i < STATE_FOURS; i++) {
        l[i] = sumOverKeys(l[i]);
    }
    UNROLL for (uint state = 0; state < ROW_STATES; state++) {
        if (lane_place.x == 0) {
            state_stage[subgroup * SUBGROUP_ROWS + stateRow(state)] = vec2(m_row[state], l[state / 4][state % 4]);
        }
    }
}

// m and l of a row of the tile over all subgroups that share its keys.
vec2 joinedState(const uint row) {
    uint first = row / SUBGROUP_ROWS * KEY_SUBGROUPS * SUBGROUP_ROWS + row % SUBGROUP_ROWS;
    float m = BEFORE_ANY_KEY;
    for (uint i = 0; i < KEY_SUBGROUPS; i++) {
        m = max(m, state_stage[first + i * SUBGROUP_ROWS].x);
    }
    float l = 0.0;
    for (uint i = 0; i < KEY_SUBGROUPS; i++) {
        vec2 state = state_stage[first + i * SUBGROUP_ROWS];
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
    UNROLL for (uint state = 0; state < ROW_STATES; state++) {
        vec2 joined = joined_stage[subgroup / KEY_SUBGROUPS * SUBGROUP_ROWS + stateRow(state)];
        row_factor[state] = exp2(m_row[state] - joined.x) * joined.y;
    }
    scaleOutput();
}

// Four elements of a lane's word, of those staged: where the order in which words fill matrices has brought them.
vec4 stagedFour(const uint from_tile, const uint row, const uint part, const uint element) {
    const uint columns = from_tile * STAGED_MATRICES * MATRIX_FLOATS + row * MATRIX_ROWS + part;
    vec4 four;
    for (uint i = 0; i < 4; i++) {
        const uint place = element + i;
        four[i] = o_stage[columns + place / LEFT_SLOTS * MATRIX_FLOATS + place % LEFT_SLOTS * ROW_LANES];
    }
    return four;
}

// Elements of words of this number, from `first` on: staged by every subgroup, added up and stored by the workgroup.
void storeWord(const uint word, const uint first) {
    UNROLL for (uint i = 0; i < ROW_TILES * STAGED_MATRICES; i++) {
        const uint tile = i / STAGED_MATRICES * VALUE_TILES + word * WORD_COLUMNS + i % STAGED_MATRICES;
        coopMatStore(o_tile[tile + first / LEFT_SLOTS], o_stage,
                     (subgroup * ROW_TILES * STAGED_MATRICES + i) * MATRIX_FLOATS, MATRIX_ROWS,
                     gl_CooperativeMatrixLayoutColumnMajor);
    }
    barrier();
    const uint part_fours = STAGED_ELEMENTS / 4;
    const uint fours = ROW_LANES * part_fours;
    bool special = special_values != 0u;
    const uint staged_rows = ROW_SUBGROUPS * ROW_TILES * STAGED_ROWS;
    [[dont_unroll]] for (uint place = thread; place < staged_rows * fours; place += WORKGROUP_SIZE) {
        uint row = place / fours; // of those staged
        uint row_tile = row / STAGED_ROWS;
        uint first_tile = row_tile / ROW_TILES * KEY_SUBGROUPS * ROW_TILES + row_tile % ROW_TILES;
        uint part = place % fours / part_fours;
        uint element = place % part_fours * 4; // of those staged
        uint column = (word * ROW_LANES + part) * 8 + first + element;
        uint packed_row = item.row_begin + row_tile * MATRIX_COLUMNS + row % STAGED_ROWS;
        if (packed_row >= packedRows() || column >= VALUE_DIM) {
            continue;
        }
        vec4 o = vec4(0.0);
        for (uint i = 0; i < KEY_SUBGROUPS; i++) {
            o += stagedFour(first_tile + i * ROW_TILES, row % STAGED_ROWS, part, element);
        }
        // Two and two neighbours, of plain types all four.
        uvec2 pairs = V_BLOCKS ? uvec2(valueColumn(part, word, first + element),
                                       valueColumn(part, word, first + element + 2))
                               : uvec2(column, column + 2);
        if (special) {
            vec4 added = specialValues(item, v_head, queryRow(packed_row), pairs.x & ~3u);
            if (V_BLOCKS) {
                vec4 second = specialValues(item, v_head, queryRow(packed_row), pairs.y & ~3u);
                added = vec4((pairs.x & 2) == 0 ? added.xy : added.zw, (pairs.y & 2) == 0 ? second.xy : second.zw);
            }
            o += added;
        }
        uvec2 head = headAddress(params.o, VKF_O, item.part, queryHead(item, packed_row));
        uvec2 row_address = rowAddress(head, VKF_O, queryRow(packed_row));
        if (V_BLOCKS) {
            uvec4 words = packWords(o, TYPE_O);
            UNROLL for (uint i = 0; i < 4; i++) {
                storeElement(row_address, i < 2 ? pairs.x : pairs.y - 2, VALUE_DIM, TYPE_O, words, i);
            }
            continue;
        }
        storeRow4(row_address, column, VALUE_DIM, TYPE_O, isAligned4(head, params.row_stride[VKF_O], TYPE_O), o);
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
    storeWord(0, 0);
    if (IN_HALVES) {
        storeWord(0, 4);
    }
    if (V_LANE_WORDS > 1) {
        storeWord(1, 0);
    }
    if (V_LANE_WORDS > 1 && IN_HALVES) {
        storeWord(1, 4);
    }
    if (V_LANE_WORDS > 2) {
        storeWord(2, 0);
    }
    if (V_LANE_WORDS > 2 && IN_HALVES) {
        storeWord(2, 4);
    }
    if (V_LANE_WORDS > 3) {
        storeWord(3, 0);
    }
    if (V_LANE_WORDS > 3 && IN_HALVES) {
        storeWord(3, 4);
    }
    [[dont_unroll]] for (uint word = 4; word < V_LANE_WORDS; word++) {
        storeWord(word, 0);
        if (IN_HALVES) {
            storeWord(word, 4);
        }
    }
}

#endif
