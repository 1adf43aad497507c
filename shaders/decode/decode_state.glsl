// SPDX-License-Identifier: MIT
//
#ifndef VKF_DECODE_STATE_GLSL
#define VKF_DECODE_STATE_GLSL

Item item;
uint thread, group, lane;
uvec2 k_head, v_head;
uvec2 keys;   // of this split, in numbers that leave out the keys between the first ones and the window
ivec2 unseen; // those keys

uint fetched_pages[THREAD_KEYS]; // of the keys to be fetched next
uvec4 fetched_k[THREAD_KEYS * K_LANE_WORDS];
uvec4 fetched_v[THREAD_KEYS * V_LANE_WORDS];
float s_tile[THREAD_ROWS * THREAD_KEYS];
vec4 o_tile[THREAD_ROWS * LANE_COLUMNS4];
float m_row[THREAD_ROWS];
float l_row[THREAD_ROWS]; // of all keys of the group
float slope_row[THREAD_ROWS];
RowDropout dropout_row[HAS_DROPOUT ? THREAD_ROWS : 1];

// q as fp32, its columns where a lane finds those that belong to its words of k, zeros where there are none.
shared vec4 q_stage[VKF_DECODE_Q_WORDS(THREAD_ROWS, HEAD_DIM, TYPE_K, LANES)];

#endif
