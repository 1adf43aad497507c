// SPDX-License-Identifier: MIT
//
// The tile of the decode kernel in plain arithmetic: what each invocation owns.
//
// A group is LANES neighbouring invocations, which take a key at a time. Each of them holds some words of 16 bytes of
// the key's k and v, and the columns of o that belong to these words. A word of a block type is a piece of a block. A
// group holds all LANE_GROUP_ROWS rows of the tile and LANE_GROUP_KEYS keys at once. The groups of a workgroup take
// keys in turn, and join their states at the end.
#ifndef VKF_DECODE_TILE_GLSL
#define VKF_DECODE_TILE_GLSL

layout(constant_id = VKF_ID_LANE_GROUP_ROWS) const uint LANE_GROUP_ROWS = 4;
layout(constant_id = VKF_ID_LANE_GROUP_KEYS) const uint LANE_GROUP_KEYS = 4;
layout(constant_id = VKF_ID_WHOLE_WORDS) const bool WHOLE_WORDS = true;

const uint GROUPS = WORKGROUP_SIZE / LANES;
const uint TILE_ROWS = LANE_GROUP_ROWS;
const uint TILE_KEYS = GROUPS * LANE_GROUP_KEYS;

// Groups of four elements in a word, and words of a row in a lane.
const uint K_QUADS = VKF_WORD_QUADS(TYPE_K);
const uint V_QUADS = VKF_WORD_QUADS(TYPE_V);
const uint K_LANE_WORDS = VKF_LANE_WORDS(HEAD_DIM, TYPE_K, LANES);
const uint V_LANE_WORDS = VKF_LANE_WORDS(VALUE_DIM, TYPE_V, LANES);
const uint LANE_COLUMNS4 = V_LANE_WORDS * V_QUADS; // columns of o in a lane, in fours

#endif
