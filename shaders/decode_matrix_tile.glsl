// SPDX-License-Identifier: MIT
//
// The tile of the decode kernel on cooperative matrices: which invocation loads what.
//
// Matrices are filled from registers, in an order of depths and of columns that suits the loads: sums over
// depths do not mind, and columns of o are put in order when they are stored. Right operands are laid out
// as left ones transposed (matrix_layout.glsl), so of q, k and v alike an invocation holds, in each matrix,
// SLOT_ELEMENTS x SLOTS elements. With `word` counting the words of 16 bytes that it loads of a row:
//
//     q, k   SLOTS rows or keys; DEPTH_LANES neighbouring lanes share one, each word of theirs has
//            SLOT_ELEMENTS depths for each of WORD_DEPTHS matrices
//     v      SLOT_ELEMENTS keys, those of its columns of the scores; lanes DEPTH_LANES apart share one, each
//            word of theirs has SLOTS columns for each of WORD_COLUMNS matrices
//
// The low bits of a lane's number choose a depth, the others a row; of a row's number the low bits are the
// lane's.
#ifndef VKF_DECODE_MATRIX_TILE_GLSL
#define VKF_DECODE_MATRIX_TILE_GLSL

#include "matrix_layout.glsl"

layout(constant_id = VKF_ID_ROW_SUBGROUPS) const uint ROW_SUBGROUPS = 1;
layout(constant_id = VKF_ID_THREAD_ROWS) const uint STAGED_ROWS = 16; // of a subgroup that may exist
layout(constant_id = VKF_ID_WHOLE_WORDS) const bool WHOLE_WORDS = true;

const uint SUBGROUPS = WORKGROUP_SIZE / LANES;
const uint KEY_SUBGROUPS = SUBGROUPS / ROW_SUBGROUPS;
const uint TILE_ROWS = ROW_SUBGROUPS * MATRIX_ROWS;
const uint TILE_KEYS = KEY_SUBGROUPS * MATRIX_DEPTH;

const uint DEPTH_LANES = COLUMN_LANES + 1;
const uint ROW_LANES = LANES / DEPTH_LANES;
const uint WORD_DEPTHS = 8 / SLOT_ELEMENTS; // matrices
const uint WORD_COLUMNS = 8 / SLOTS;
const uint K_LANE_WORDS = VKF_LANE_WORDS(HEAD_DIM, TYPE_Q, DEPTH_LANES);
const uint V_LANE_WORDS = VKF_LANE_WORDS(VALUE_DIM, TYPE_Q, ROW_LANES);
const uint DIM_TILES = K_LANE_WORDS * WORD_DEPTHS;
const uint VALUE_TILES = V_LANE_WORDS * WORD_COLUMNS;
const uint SLOT_FOURS = (SLOTS + 3) / 4;

// Element 0 to 7 of a word. By comparing numbers, as vectors indexed by a variable may live in memory.
Half halfOf(const uvec4 word, const uint element) {
    uint pair = element < 4 ? (element < 2 ? word.x : word.y) : (element < 6 ? word.z : word.w);
#ifdef VKF_MATRIX_BF16
    vec2 halves = unpackBf16(pair);
    return Half(element % 2 == 0 ? halves.x : halves.y);
#else
    f16vec2 halves = unpackFloat2x16(pair);
    return element % 2 == 0 ? halves.x : halves.y;
#endif
}

#endif
