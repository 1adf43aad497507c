// SPDX-License-Identifier: MIT
//
// The loop order of FlashAttention's first version (Dao et al. 2022, algorithm 1): tiles of keys outside, tiles of
// query rows inside. Work items count the row tiles of all sequences for the first tile of keys, then for the second,
// and so on; a workgroup takes one, and the state of its rows comes from memory and goes back: o, not divided by l,
// fp32, in the place of o, and (m, l) in the place of lse. finish_rows.comp divides at the end.
#ifndef VKF_KEY_OUTER_GLSL
#define VKF_KEY_OUTER_GLSL

#include "scalar/row_state.glsl"

layout(constant_id = VKF_ID_KEY_OUTER) const bool KEY_OUTER = false;
layout(constant_id = VKF_ID_SEQUENCES) const uint SEQUENCES = 1;

// Row tiles of all heads of all sequences.
uint itemsOfKeyTile() {
    return (params.query_rows + TILE_ROWS - 1) / TILE_ROWS * (params.heads & 0xffffu) * SEQUENCES;
}

// Those of the keys that some row sees which are of the item's tile of keys.
ivec2 keysOfPass(const ivec2 any, const uint number) {
    int begin = int(number / itemsOfKeyTile() * TILE_KEYS);
    return ivec2(max(any.x, begin), min(any.y, begin + int(TILE_KEYS)));
}

void loadState(const Item item, const uint group, const uint lane) {
    uvec2 head = headAddress(params.o, VKF_O, item.batch, item.head);
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        uint i = min(item.row_begin + tileRow(group, row), params.query_rows - 1);
        vec2 state = loadRowState(params.lse, item, i);
        m_row[row] = state.x;
        l_row[row] = lane == 0 ? state.y : 0.0; // the lanes' parts are added
        UNROLL for (uint c = 0; c < THREAD_COLUMNS4; c++) {
            uint word = min(lane + c * LANES, (VALUE_DIM + 3) / 4 - 1);
            o_tile[row * THREAD_COLUMNS4 + c] =
                uintBitsToFloat(Word4(add64(rowAddress(head, VKF_O, i), uvec2(word * 16, 0))).value);
        }
    }
}

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
