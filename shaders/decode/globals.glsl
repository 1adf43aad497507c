// SPDX-License-Identifier: MIT
//
// All mutable state of the decode kernel in plain arithmetic. decode/join.glsl has the shared memory of the kernel's
// end. cache/paging.glsl and the masks have state of their own.
#ifndef VKF_DECODE_GLOBALS_GLSL
#define VKF_DECODE_GLOBALS_GLSL

// The position of the invocation, and what it works on. main sets these variables once.
Item item;
uint thread, group, lane;
uvec2 k_head, v_head;
uvec2 keys;       // key numbers [x, y) of this split (splitKeys)
ivec2 empty_keys; // keys between the first keys and the window, which have no number

// Words in flight from memory.
uint fetched_pages[LANE_GROUP_KEYS]; // entries of the block table for the keys to be fetched next
uint tile_absent;                    // bit t is set if key t of the present tile has no page
// Entries of the list of chosen keys: those to be fetched next, and those of the present tile.
uint fetched_entries[HAS_CHOSEN_KEYS ? LANE_GROUP_KEYS : 1];
uint tile_entries[HAS_CHOSEN_KEYS ? LANE_GROUP_KEYS : 1];
uvec4 fetched_k[LANE_GROUP_KEYS * K_LANE_WORDS];
uvec4 fetched_v[LANE_GROUP_KEYS * V_LANE_WORDS];
// The state of the algorithm.
float s_tile[LANE_GROUP_ROWS * LANE_GROUP_KEYS];
vec4 o_tile[LANE_GROUP_ROWS * LANE_COLUMNS4];
float m_row[LANE_GROUP_ROWS];
float l_row[LANE_GROUP_ROWS]; // running sum over the keys of the group
float slope_row[LANE_GROUP_ROWS];
RowDropout dropout_row[HAS_DROPOUT ? LANE_GROUP_ROWS : 1];

// q as fp32. Its columns lie where a lane finds the columns that belong to its words of k. Missing columns are zeros.
shared vec4 q_stage[VKF_DECODE_Q_WORDS(LANE_GROUP_ROWS, HEAD_DIM, TYPE_K, LANES)];

#endif
