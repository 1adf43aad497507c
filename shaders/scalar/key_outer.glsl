// SPDX-License-Identifier: MIT
//
// Path key_outer: the loop order of FlashAttention's first version (Dao et al. 2022, arXiv 2205.14135, algorithm 1).
// Its lines:
//
//      2       o = 0, l = 0, m = -infinity, of all rows, in memory           main: clearOutput, clearSoftmax
//      5       for each tile j of keys                                       work items, itemsOfKeyTile
//      6         load k_j, v_j                                               fetchK, stageK, fetchV, stageV
//      7         for each tile i of query rows                               a workgroup
//      8           load q_i, o_i, l_i, m_i                                   loadState
//      9           s = q_i k_j^T                                             computeScores
//     10, 11       m~ = rowmax s, p = exp(s - m~), l~ = rowsum p,
//                  m_i, l_i of old and tile together                         updateSoftmax
//     12           o_i = (exp(m_old - m_i) l_old o_i + exp(m~ - m_i) p v_j)
//                  / l_i, to memory                                          updateSoftmax, computeOutput, storeState
//     13           l_i, m_i to memory                                        storeState
//
// Where the kernel deviates from the algorithm:
//     2    The first pass of a row starts with an empty state. It does not load one.
//     10   p is computed from the new m_i at once, so that m~ and l~ need no registers.
//     12   A pass does not divide o_i by l_i. finish_rows.comp divides once, after the last pass.
//
// Work items count the row tiles of all sequences for the first tile of keys, then for the second, and so on.
// params.o and params.lse are addresses in scratch memory: o in fp32, and (m, l) of each row.
#ifndef VKF_KEY_OUTER_GLSL
#define VKF_KEY_OUTER_GLSL

#include "softmax/stored_state.glsl"

layout(constant_id = VKF_ID_KEY_OUTER) const bool KEY_OUTER = false;
layout(constant_id = VKF_ID_SEQUENCES) const uint SEQUENCES = 1;

// Number of row tiles, of all heads of all sequences.
uint itemsOfKeyTile() {
    return VKF_ITEMS_OF_KEY_TILE(params.query_rows, TILE_ROWS, QUERY_HEADS, SEQUENCES);
}

// Line 5: the keys of the pass, among the keys [any.x, any.y) that some row sees.
ivec2 keysOfPass(const ivec2 any, const uint number) {
    int begin = int(number / itemsOfKeyTile() * TILE_KEYS);
    return ivec2(max(any.x, begin), min(any.y, begin + int(TILE_KEYS)));
}

// Line 8.
void loadState(const Item item, const uint group, const uint lane) {
    uvec2 head = headAddress(params.o, VKF_O, item.batch, item.head);
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        uint i = min(item.row_begin + tileRow(group, row), params.query_rows - 1);
        vec2 state = loadRowState(params.lse, item, i);
        m_row[row] = state.x;
        l_row[row] = lane == 0 ? state.y : 0.0; // storeState adds the sums of the lanes
        UNROLL for (uint c = 0; c < THREAD_COLUMNS4; c++) {
            uint word = min(lane + c * LANES, (VALUE_DIM + 3) / 4 - 1);
            o_tile[row * THREAD_COLUMNS4 + c] =
                uintBitsToFloat(Word4(add64(rowAddress(head, VKF_O, i), uvec2(word * 16, 0))).value);
        }
    }
}

// Lines 12 and 13.
void storeState(const Item item, const uint group, const uint lane) {
    sumOverLanes(l_row, group, lane);
    float factor[THREAD_ROWS];
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        factor[row] = 1.0;
        uint i = item.row_begin + tileRow(group, row);
        if (lane == 0 && i < params.query_rows) {
            storeRowState(params.lse, item, i, m_row[row], l_row[row]);
        }
    }
    storeOutput(item, group, lane, factor);
}

#endif
