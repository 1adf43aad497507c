// SPDX-License-Identifier: MIT
//
// Lines 12 to 15 of the algorithm (attention_decode_matrix.comp): joins the partial results of the workgroup's
// subgroups, in their order, and stores (o, lse) of each row.
#ifndef VKF_DECODE_MATRIX_JOIN_GLSL
#define VKF_DECODE_MATRIX_JOIN_GLSL

const uint VALUE_VEC4S = (VALUE_DIM + 3) / 4;
const uint STAGED_ROW = VKF_DECODE_STAGED_ROW(V_LANE_WORDS * 8 * ROW_LANES);

// o of one lane row of each lane, as pairs of columns.
shared vec2 o_stage[SUBGROUPS * LANE_ROW_STRIDE * STAGED_ROW];
shared vec2 state_stage[SUBGROUPS * SUBGROUP_ROWS]; // m and l
// Not 0 if o of a subgroup has an infinite element or a NaN, or if some key has no page.
shared uint infinite_sums;

// A sum of finite elements may be infinite, too: the workgroup then starts again without need. The function looks at
// bits, because compilers may take for granted that all numbers are finite.
bool isInfiniteOutput() {
    const uint infinity_doubled = 0xff000000u;
    float sum = 0.0;
    UNROLL for (uint i = 0; i < OUTPUT_MATRICES * VALUE_MATRICES * ELEMENTS; i++) {
        const uint matrix = i / ELEMENTS;
        if (laneRowOfOutput(matrix / VALUE_MATRICES, i % ELEMENTS) < LANE_ROWS) {
            sum += o_matrix[matrix][i % ELEMENTS];
        }
    }
    return floatBitsToUint(sum) << 1 >= infinity_doubled;
}

// Stages m and l of each row over the keys of the subgroup. Sets infinite_sums if o of the subgroup is not finite. It
// does so in the second attempt of main too, where nobody reads the flag: a test of the attempt costs 1 % of one
// decoded row (lab/log-0.4.md, "Log: scores that fill fp32").
void stageStates() {
    if ((KEY_COLUMNS == 2 && isInfiniteOutput()) || (PAGED && !IS_PAGE(largest_entry))) {
        VKF_SET_SHARED_FLAG(infinite_sums, 1u);
    }
    vec4 l[LANE_ROW_VEC4S];
    UNROLL for (uint i = 0; i < LANE_ROW_VEC4S; i++) {
        l[i] = vec4(0.0);
    }
    UNROLL for (uint lane_row = 0; lane_row < LANE_ROWS; lane_row++) {
        l[lane_row / 4][lane_row % 4] = l_row[lane_row];
    }
    UNROLL for (uint i = 0; i < LANE_ROW_VEC4S; i++) {
        l[i] = sumOverKeys(l[i]);
    }
    UNROLL for (uint lane_row = 0; lane_row < LANE_ROWS; lane_row++) {
        if (lane_position.x == 0 && ownsRows()) {
            state_stage[subgroup * SUBGROUP_ROWS + subgroupRow(lane_row)] =
                vec2(m_row[lane_row], l[lane_row / 4][lane_row % 4]);
        }
    }
}

// m and l of a row of the tile over all subgroups that share its keys: m = max m_g, l = sum exp(m_g - m) l_g.
vec2 joinedState(const uint row) {
    uint first = row / SUBGROUP_ROWS * KEY_SUBGROUPS * SUBGROUP_ROWS + row % SUBGROUP_ROWS;
    vec2 of_subgroup[KEY_SUBGROUPS];
    float m = BEFORE_ANY_KEY;
    UNROLL for (uint i = 0; i < KEY_SUBGROUPS; i++) {
        of_subgroup[i] = state_stage[first + i * SUBGROUP_ROWS];
        m = max(m, of_subgroup[i].x);
    }
    float l = 0.0;
    UNROLL for (uint i = 0; i < KEY_SUBGROUPS; i++) {
        l += sumInJoin(of_subgroup[i], m);
    }
    return vec2(m, l);
}

// Stores lse of each row, and sets row_factor. row_factor scales o of the subgroup to the joined m and divides it by
// the l of the finished row.
void joinStates() {
    bool stores = lane_position.x == 0 && ownsRows() && subgroup % KEY_SUBGROUPS == 0;
    UNROLL for (uint lane_row = 0; lane_row < LANE_ROWS; lane_row++) {
        uint row = subgroup / KEY_SUBGROUPS * SUBGROUP_ROWS + subgroupRow(lane_row);
        uint packed_row = item.row_begin + row;
        Item of_row = item;
        of_row.head = queryHead(item, packed_row);
        vec2 joined = joinedState(row);
        FinishedRow finished = finishRow(of_row.head, joined.x, joined.y);
        row_factor[lane_row] =
            finished.l == 0.0 ? 0.0 : scaledByDropout(rescaleFactor(m_row[lane_row], joined.x) / finished.l);
        if (HAS_LSE && stores && packed_row < packedRows(item)) {
            storeLse(of_row, queryRow(packed_row), joined.x, joined.y, finished);
        }
    }
}

// o of a lane row, in one of the lane's units: columns or pairs of columns. `column` is the column of the pair, if the
// lane has both.
float outputOf(const uint lane_row, const uint unit, const uint column) {
    const uint matrix = lane_row / OUTPUT_LANE_ROWS * VALUE_MATRICES + unit / LEFT_FRAGMENT_ROWS;
    return o_matrix[matrix]
                   [unit % LEFT_FRAGMENT_ROWS * ROW_ELEMENTS + lane_row % OUTPUT_LANE_ROWS * LANE_COLUMNS + column];
}

// Where element 0 to 7 of a word of this lane's is staged.
uint stagedColumn(const uint word, const uint element) {
    return V_BLOCKS ? valueColumn(word, element) : (word * ROW_LANES + lane / DEPTH_LANES) * 8 + element;
}

// Stages what this lane has of a lane row, by elements 2i and 2i + 1 of each of its words.
void stageRows(const uint lane_row) {
    const uint row = (subgroup * LANE_ROW_STRIDE + subgroupRow(0)) * STAGED_ROW;
    UNROLL for (uint pair = 0; pair < V_LANE_COLUMN_PAIRS; pair++) {
        const uint unit = pair * 2 / KEY_COLUMNS;
        const uint element = pair % 4 * 2;
        const float o = outputOf(lane_row, unit, 0) * row_factor[lane_row];
        if (SPLIT_COLUMN_PAIRS) {
            uint column = stagedColumn(pair / 4, element + splitColumn());
            o_stage[row + column / 2][column % 2] = o;
            continue;
        }
        const float next =
            (KEY_COLUMNS == 2 ? outputOf(lane_row, unit, 1) : outputOf(lane_row, unit + 1, 0)) * row_factor[lane_row];
        uint first = stagedColumn(pair / 4, element);
        if (V_BLOCKS) {
            uint second = stagedColumn(pair / 4, element + 1);
            o_stage[row + first / 2][first % 2] = o;
            o_stage[row + second / 2][second % 2] = next;
        } else {
            o_stage[row + first / 2] = vec2(o, next);
        }
    }
}

// Four columns of a staged row, added up over the subgroups that share its keys.
vec4 stagedVec4(const uint row_subgroup, const uint row_in_stride, const uint four) {
    vec4 o = vec4(0.0);
    UNROLL for (uint i = 0; i < KEY_SUBGROUPS; i++) {
        uint from = ((row_subgroup * KEY_SUBGROUPS + i) * LANE_ROW_STRIDE + row_in_stride) * STAGED_ROW + four * 2;
        o += vec4(o_stage[from], o_stage[from + 1]);
    }
    return o;
}

// Stores the staged rows. All invocations of the workgroup take part.
void storeRows(const uint lane_row) {
    bool special = special_values != 0u;
    KEEP_LOOP for (uint index = thread; index < ROW_SUBGROUPS * LANE_ROW_STRIDE * VALUE_VEC4S;
                   index += WORKGROUP_SIZE) {
        uint four = index % VALUE_VEC4S;
        uint row_in_stride = index / VALUE_VEC4S % LANE_ROW_STRIDE;
        uint row_subgroup = index / VALUE_VEC4S / LANE_ROW_STRIDE;
        uint packed_row = item.row_begin + row_subgroup * SUBGROUP_ROWS + lane_row * LANE_ROW_STRIDE + row_in_stride;
        if (packed_row >= packedRows(item)) {
            continue;
        }
        Item of_row = item;
        of_row.head = queryHead(item, packed_row);
        vec4 o = stagedVec4(row_subgroup, row_in_stride, four);
        if (special) {
            o += specialValues(of_row, v_head, queryRow(packed_row), four * 4);
        }
        uvec2 head = headAddress(params.o, VKF_O, item.partial_result, of_row.head, item.first_row);
        storeRow4(rowAddress(head, VKF_O, queryRow(packed_row)), four * 4, VALUE_DIM, TYPE_O,
                  isAligned4(head, params.row_stride[VKF_O], TYPE_O), o);
    }
}

// Stages and stores one lane row of all lanes. A macro, because one more call would be deeper than NVIDIA's compiler
// inlines (docs/kernel_rules.md, "Chains of calls").
#define WRITE_LANE_ROW(lane_row)                                                                                       \
    stageRows(lane_row);                                                                                               \
    barrier();                                                                                                         \
    storeRows(lane_row);

// Stores what stageStates and a barrier after it have prepared.
void writeResults() {
    joinStates();
    // Each lane row has code of its own, so that constants index the matrices. Matrices that a variable indexes live
    // in memory.
    WRITE_LANE_ROW(0)
    if (LANE_ROWS > 1) {
        barrier();
        WRITE_LANE_ROW(1)
    }
    if (LANE_ROWS > 2) {
        barrier();
        WRITE_LANE_ROW(2)
    }
    if (LANE_ROWS > 3) {
        barrier();
        WRITE_LANE_ROW(3)
    }
}

#endif
