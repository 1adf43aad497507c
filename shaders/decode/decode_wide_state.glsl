// SPDX-License-Identifier: MIT
//
// All mutable state of the decode kernel for wide heads. decode_wide_tile.glsl has its shared memory.
//
// Needs: common/params.glsl (Item), decode/decode_wide_tile.glsl, scores/final_score.glsl (BEFORE_ANY_KEY),
// scores/dropout.glsl.
// Provides: the variables below.
#ifndef VKF_DECODE_WIDE_STATE_GLSL
#define VKF_DECODE_WIDE_STATE_GLSL

// Where the invocation stands and what it works on: set once, in main.
Item item;
uint thread, subgroup;
uint row, pair; // of the tile, that this invocation has scores of
ivec2 visible;  // keys of this split that the row sees
uvec2 k_head, v_head;
uvec2 keys;     // of this split, in numbers that leave out the keys between the first ones and the window
ivec2 unseen;   // those keys
bool v_in_k;    // v is a view of k

// On the way from memory.
uvec4 fetched[K_FETCHES];
uint fetched_page;
// The state of the algorithm.
LeftMatrix q_tile[DIM_TILES];
ResultMatrix o_tile[VALUE_TILES];
float m = BEFORE_ANY_KEY;
float l = 0.0; // of this invocation's scores
float slope;   // of the row's head
RowDropout dropout; // of the row

#endif
