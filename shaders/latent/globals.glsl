// SPDX-License-Identifier: MIT
//
// All mutable state of the latent kernel. latent/tile.glsl has its shared memory.
#ifndef VKF_LATENT_GLOBALS_GLSL
#define VKF_LATENT_GLOBALS_GLSL

// The position of the invocation, and what it works on. main sets these variables once.
Item item;
uint thread, subgroup;
uint row, pair;              // the row of each matrix of rows, and the pair of its scores, of this invocation
ivec2 visible[ROW_MATRICES]; // keys of this split that the rows see
uvec2 k_head, v_head;
uvec2 keys;       // key numbers [x, y) of this split (splitKeys)
ivec2 empty_keys; // keys between the first keys and the window, which have no number
bool v_in_k;      // v is a view of k

// Words in flight from memory.
uvec4 fetched[Q_FETCHES];       // k and v need no more
uint fetched_page;              // an entry of the block table
uint fetched_entry, next_entry; // of the list of chosen keys: for the tile of fetched_page, and for the one after it
// The present tile, with pages.
bvec2 present = bvec2(true); // whether the two keys of this invocation's scores have a page
bool all_present = true;     // whether all keys of the tile have
// The state of the algorithm.
LeftMatrix q_matrix[DIM_MATRICES];
ResultMatrix o_matrix[ROW_MATRICES * VALUE_MATRICES];
// The state of this invocation's row of each matrix of rows.
float m[ROW_MATRICES];
float l[ROW_MATRICES];     // running sums over this invocation's scores
float slope[ROW_MATRICES]; // slopes of the rows' heads
RowDropout dropout[ROW_MATRICES];

#endif
