// SPDX-License-Identifier: MIT
//
// Unfused attention, second of three passes: turns each row of S into a row of P, in the same place in memory
// (standard_p.glsl). The kernel also writes m and l of the row. It writes lse and fp32 probabilities where they are
// outputs. One workgroup works on one row.
//
// The kernel reads a row of S once if the workgroup's registers hold the scores of all keys that it writes, else twice.
// It writes P for the keys that some row of the next pass's tile sees. The next pass reads no others.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require

#include "common/compilers.glsl"
#include "shared/attention_params.h"
#define VKF_PUSH_CONSTANTS StandardSoftmaxParams
#include "common/params.glsl"

layout(constant_id = VKF_ID_READER_KEYS) const uint READER_KEYS = 32;
layout(constant_id = VKF_ID_ROW_WORDS) const uint ROW_WORDS = 1;
layout(constant_id = VKF_ID_READER_ROWS) const uint READER_ROWS = 1;
layout(constant_id = VKF_ID_TYPE_P) const uint TYPE_P = VKF_STORED_F32;
layout(constant_id = VKF_ID_PROBABILITIES) const bool HAS_PROBABILITIES = false;

const uint TILE_ROWS = 1;
const uint ROW_KEYS = WORKGROUP_SIZE * ROW_WORDS * 4; // keys whose scores the registers hold

#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "scores/units.glsl"
#include "scores/final_score.glsl"
#include "scores/score_terms.glsl"
#include "softmax/store_lse.glsl"
#include "standard/standard_p.glsl"

shared float m_lane[WORKGROUP_SIZE];
shared float l_lane[WORKGROUP_SIZE];

vec4 s_row[ROW_WORDS];
float slope; // slope of the item's head
RowDropout dropout;
DECLARE_ROW_PAIR(own_row)

// The keys [x, y) whose P this row writes, in whole chunks of READER_KEYS; rows of fp32 may end inside a chunk. They
// are the keys that the next pass reads in the tile of this row. If probabilities are an output, they are all keys.
uvec2 keysToWrite(const Item item, const uint row) {
    uint end = TYPE_P == VKF_STORED_F32 ? (params.keys + 3) / 4 * 4
                                        : (params.keys + READER_KEYS - 1) / READER_KEYS * READER_KEYS;
    if (HAS_PROBABILITIES) {
        return uvec2(0, end);
    }
    uint first_row = row / READER_ROWS * READER_ROWS;
    int first = visibleKeys(item, first_row).x;
    int last = visibleKeys(item, min(first_row + READER_ROWS, params.query_rows) - 1).y;
    if (last <= first) {
        return uvec2(0);
    }
    return uvec2(uint(first) / READER_KEYS * READER_KEYS,
                 min((uint(last) + READER_KEYS - 1) / READER_KEYS * READER_KEYS, end));
}

uint keyOf(const uint begin, const uint word, const uint lane) {
    return begin + (word * WORKGROUP_SIZE + lane) * 4;
}

bvec4 areVisible(const ivec2 visible, const uint key) {
    ivec4 keys = ivec4(int(key)) + ivec4(0, 1, 2, 3);
    return bvec4(AND_KEEPS(isVisible(visible, key), own_row, key),
                 AND_KEEPS(isVisible(visible, key + 1), own_row, key + 1),
                 AND_KEEPS(isVisible(visible, key + 2), own_row, key + 2),
                 AND_KEEPS(isVisible(visible, key + 3), own_row, key + 3));
}

bvec4 stayIn(const uint key) {
    return bvec4(staysIn(dropout, key), staysIn(dropout, key + 1), staysIn(dropout, key + 2),
                 staysIn(dropout, key + 3));
}

// Loads the scores of the keys from `begin` on and adds ALiBi and bias. The score is -infinity where the row does not
// see the key. Every load is of a word that holds a visible score. So loads need no branches, and invisible keys cost
// no traffic.
void fetchScores(const Item item, const uint row, const uvec2 row_address, const ivec2 visible, const uint begin,
                 const uint lane) {
    UNROLL for (uint i = 0; i < ROW_WORDS; i++) {
        uint key = keyOf(begin, i, lane);
        uint word = clamp(key / 4, uint(visible.x) / 4, uint(visible.y - 1) / 4);
        s_row[i] = uintBitsToFloat(Word4(add64(row_address, uvec2(word * 16, 0))).value);
    }
    UNROLL for (uint i = 0; i < ROW_WORDS; i++) {
        uint key = keyOf(begin, i, lane);
        RowTerms terms = rowTerms(item, item.head, slope, row, key);
        vec4 s = vec4(withTerms(terms, 0, s_row[i].x), withTerms(terms, 1, s_row[i].y), withTerms(terms, 2, s_row[i].z),
                      withTerms(terms, 3, s_row[i].w));
        s_row[i] = mix(vec4(MINUS_INFINITY), s, areVisible(visible, key));
    }
}

float largestOf(const vec4 s) {
    return max(max(s.x, s.y), max(s.z, s.w));
}

// The unit of l and P: the number that is subtracted from scores before exp2. It is the row's maximum or, if P is
// rounded, the next whole number. Factors between whole units are powers of two and change no rounding. If m is
// -infinity, the unit is 0, because the difference of two infinities is NaN.
float unitOf(const float m) {
    return m == MINUS_INFINITY ? 0.0 : TYPE_P == VKF_STORED_F32 ? m : wholeUnits(m);
}

// Converts l of some keys, whose maximum is m, to another unit.
float inUnit(const float unit, const float m, const float l) {
    return l == 0.0 ? 0.0 : l * rescaleFactor(unitOf(m), unit);
}

// m and l over this lane's keys.
vec2 laneState(const Item item, const uint row, const uvec2 row_address, const ivec2 visible, const uvec2 keys,
               const uint lane) {
    float m = MINUS_INFINITY;
    float l = 0.0;
    for (uint begin = keys.x; int(begin) < visible.y; begin += ROW_KEYS) {
        fetchScores(item, row, row_address, visible, begin, lane);
        float m_new = m;
        UNROLL for (uint i = 0; i < ROW_WORDS; i++) {
            m_new = max(m_new, largestOf(s_row[i]));
        }
        float unit = unitOf(m_new);
        l = inUnit(unit, m, l);
        UNROLL for (uint i = 0; i < ROW_WORDS; i++) {
            l += dot(power(s_row[i] - unit), vec4(1.0));
        }
        m = m_new;
    }
    return vec2(m, l);
}

// Merges (m, l) of the lanes in pairs, in a fixed order.
vec2 mergeLanes(const vec2 state, const uint lane) {
    m_lane[lane] = state.x;
    l_lane[lane] = state.y;
    for (uint distance = WORKGROUP_SIZE / 2; distance > 0; distance /= 2) {
        barrier();
        if (lane < distance) {
            float m = max(m_lane[lane], m_lane[lane + distance]);
            l_lane[lane] = inUnit(unitOf(m), m_lane[lane], l_lane[lane]) +
                           inUnit(unitOf(m), m_lane[lane + distance], l_lane[lane + distance]);
            m_lane[lane] = m;
        }
    }
    barrier();
    return vec2(m_lane[0], l_lane[0]);
}

void storeP(const uvec2 row_address, const uint key, const vec4 p) {
    uvec4 words = packWords(p, TYPE_P);
    if (TYPE_P == VKF_STORED_F32) {
        Word4(add64(row_address, uvec2(key * 4, 0))).value = words;
    } else {
        Word2(add64(row_address, uvec2(key * 2, 0))).value = words.xy;
    }
}

void storeProbabilities(const Item item, const uint row, const uint key, const vec4 probabilities) {
    uvec2 head = headAddress(params.probabilities, VKF_PROBABILITIES, item.batch, item.head);
    storeRow4(rowAddress(head, VKF_PROBABILITIES, row), key, params.keys, VKF_STORED_F32,
              isAligned4(head, params.row_stride[VKF_PROBABILITIES], VKF_STORED_F32), probabilities);
}

void writeRow(const Item item, const uint row, const uvec2 row_address, const ivec2 visible, const uvec2 keys,
              const vec2 state, const uint lane) {
    float unit = unitOf(state.x);
    float normalizer = inverseOfSum(state.y);
    bool kept = keys.y - keys.x <= ROW_KEYS; // laneState() left the scores in registers
    for (uint begin = keys.x; begin < keys.y; begin += ROW_KEYS) {
        if (!kept && visible.x < visible.y) {
            fetchScores(item, row, row_address, visible, begin, lane);
        }
        // A row of P in 16 bits takes less room than its row of S. So words of P overwrite scores that other lanes have
        // to load first.
        controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);
        UNROLL for (uint i = 0; i < ROW_WORDS; i++) {
            uint key = keyOf(begin, i, lane);
            bvec4 seen = areVisible(visible, key);
            if (key < keys.y) {
                vec4 p = power(s_row[i] - unit) * exp2(P_EXPONENT);
                if (HAS_DROPOUT && item.keys != 0) { // staysIn needs a key
                    p = mix(vec4(0.0), p, stayIn(key));
                }
                storeP(row_address, key, mix(vec4(P_DROPPED), p, seen));
            }
            if (HAS_PROBABILITIES && key < params.keys) {
                storeProbabilities(item, row, key, mix(vec4(0.0), power(s_row[i] - unit) * normalizer, seen));
            }
        }
    }
}

void main() {
    uint lane = gl_LocalInvocationIndex;
    Item item = itemOf(params.first_item + gl_WorkGroupID.x);
    uint row = item.row_begin;
    uvec2 address = rowAddress(headAddress(params.s, VKF_S, item.batch, item.head), VKF_S, row);
    ivec2 visible = visibleKeys(item, row);
    uvec2 keys = keysToWrite(item, row);

    slope = slopeOf(item.head);
    SET_ROW_PAIR(own_row, item, item.head, row)
    dropout = rowDropout(item, item.head, row);
    vec2 state = vec2(MINUS_INFINITY, 0.0);
    if (visible.x < visible.y) {
        state = laneState(item, row, address, visible, keys, lane);
    }
    state = mergeLanes(state, lane);
    FinishedRow finished = finishRow(item.head, unitOf(state.x), state.y);
    state.y = finished.l;
    writeRow(item, row, address, visible, keys, state, lane);
    if (lane == 0) {
        storeRowState(params.row_state, item, row, unitOf(state.x), state.y);
        if (HAS_LSE) {
            storeLse(item, row, state.x, state.y, finished);
        }
    }
}
