// SPDX-License-Identifier: MIT
//
#ifndef VKF_DECODE_WIDE_STATE_GLSL
#define VKF_DECODE_WIDE_STATE_GLSL

Item item;
uint thread, subgroup;
uint row, pair; // of the tile, that this invocation has scores of
ivec2 visible;  // keys of this split that the row sees
uvec2 k_head, v_head;
uvec2 keys;     // of this split, in numbers that leave out the keys between the first ones and the window
ivec2 unseen;   // those keys
bool v_in_k;    // v is a view of k

uvec4 fetched[K_FETCHES];
uint fetched_page;
LeftMatrix q_tile[DIM_TILES];
ResultMatrix o_tile[VALUE_TILES];
float m = BEFORE_ANY_KEY;
float l = 0.0; // of this invocation's scores
float slope;   // of the row's head
RowDropout dropout; // of the row

#endif
