// SPDX-License-Identifier: MIT
//
// Sums over the lanes of a group (line 8 of the algorithm, attention_decode.comp), and lines 12 to 15: joins the
// partial results of the workgroup's groups, in the order of the groups, and stores (o, lse) of each row.
#ifndef VKF_DECODE_JOIN_GLSL
#define VKF_DECODE_JOIN_GLSL

const uint GROUP_COLUMNS4 = LANES * LANE_COLUMNS4;

shared vec2 state_stage[GROUPS * LANE_GROUP_ROWS];                                 // m and l
shared vec4 o_stage[VKF_DECODE_O_WORDS(WORKGROUP_SIZE, VALUE_DIM, TYPE_V, LANES)]; // one row of o at a time

uint stagedColumn(const uint word, const uint quad) {
    return quadColumn(word * LANES + lane, quad, TYPE_V) / 4;
}

void stageStates() {
    UNROLL for (uint r = 0; r < LANE_GROUP_ROWS; r++) {
        if (lane == r % LANES) {
            state_stage[group * LANE_GROUP_ROWS + r] = vec2(m_row[r], l_row[r]);
        }
    }
}

// m and l of a row over all groups: m = max m_g, l = sum exp(m_g - m) l_g.
vec2 joinedState(const uint row) {
    float m = MINUS_INFINITY;
    for (uint g = 0; g < GROUPS; g++) {
        m = max(m, state_stage[g * LANE_GROUP_ROWS + row].x);
    }
    float l = 0.0;
    for (uint g = 0; g < GROUPS; g++) {
        vec2 state = state_stage[g * LANE_GROUP_ROWS + row];
        l += sumInJoin(state, m);
    }
    return vec2(m, l);
}

// Stages this invocation's columns of row r of o, scaled to the joined m and divided by the l of the finished row.
void stageRow(const uint r, const float m, const FinishedRow finished) {
    float factor = l_row[r] == 0.0 || finished.l == 0.0 ? 0.0 : rescaleFactor(m_row[r], m) / finished.l;
    factor = scaledByDropout(factor);
    UNROLL for (uint word = 0; word < V_LANE_WORDS; word++) {
        UNROLL for (uint quad = 0; quad < V_QUADS; quad++) {
            o_stage[group * GROUP_COLUMNS4 + stagedColumn(word, quad)] =
                l_row[r] == 0.0 ? vec4(0.0) : factor * o_tile[r * LANE_COLUMNS4 + word * V_QUADS + quad];
        }
    }
}

void storeStagedRow(const uint packed_row, const vec2 joined, const FinishedRow finished) {
    uint head = queryHead(item, packed_row);
    uint row = queryRow(packed_row);
    uvec2 o_head = headAddress(params.o, VKF_O, item.partial_result, head, item.first_row);
    KEEP_LOOP for (uint column4 = thread; column4 * 4 < VALUE_DIM; column4 += WORKGROUP_SIZE) {
        vec4 o = vec4(0.0);
        for (uint g = 0; g < GROUPS; g++) {
            o += o_stage[g * GROUP_COLUMNS4 + column4];
        }
        storeRow4(rowAddress(o_head, VKF_O, row), column4 * 4, VALUE_DIM, TYPE_O,
                  isAligned4(o_head, params.row_stride[VKF_O], TYPE_O), o);
    }
    if (HAS_LSE && thread == 0) {
        Item of_row = item;
        of_row.head = head;
        storeLse(of_row, row, joined.x, joined.y, finished);
    }
}

void writeResults() {
    stageStates();
    UNROLL for (uint r = 0; r < LANE_GROUP_ROWS; r++) {
        barrier(); // the states are staged, and the readers of the row before are done
        vec2 joined = joinedState(r);
        FinishedRow finished = finishRow(queryHead(item, item.row_begin + r), joined.x, joined.y);
        stageRow(r, joined.x, finished);
        barrier();
        if (item.row_begin + r < packedRows(item)) {
            storeStagedRow(item.row_begin + r, joined, finished);
        }
    }
}

// Line 8 of the algorithm (attention_decode.comp): adds up the partial scores of a group's lanes. Each lane gets the
// sums. The lanes use shuffles, or shared memory on a device without shuffles.

#ifdef VKF_SUBGROUPS
void sumOverLanes() {
    UNROLL for (uint distance = LANES / 2; distance > 0; distance /= 2) {
        UNROLL for (uint i = 0; i < LANE_GROUP_ROWS * LANE_GROUP_KEYS; i++) {
            s_tile[i] += subgroupShuffleXor(s_tile[i], distance);
        }
    }
}
#else
// Adds four scores at a time through the memory of o_stage. Every invocation of the workgroup must call this function.
void sumOverLanes() {
    UNROLL for (uint first = 0; first < LANE_GROUP_ROWS * LANE_GROUP_KEYS; first += 4) {
        uint count = min(LANE_GROUP_ROWS * LANE_GROUP_KEYS - first, 4);
        barrier();
        UNROLL for (uint i = 0; i < 4; i++) {
            if (i < count) {
                o_stage[thread][i] = s_tile[first + i];
            }
        }
        barrier();
        UNROLL for (uint i = 0; i < 4; i++) {
            if (i < count) {
                s_tile[first + i] = 0.0;
                for (uint other = 0; other < LANES; other++) {
                    s_tile[first + i] += o_stage[group * LANES + other][i];
                }
            }
        }
    }
}
#endif

#endif
