// SPDX-License-Identifier: MIT
//
// Loads what a subgroup owns: operands from q and dout, or from k and v, and the state of owned rows.
//
// Needs: backward_coopmat/globals.glsl, matrix/query_words.glsl, scalar/row_state.glsl, backward/backward_table.glsl.
// Provides: TYPE_OWNED_HEADS, TYPE_OWNED_VALUES,
// TYPE_VISITED_HEADS, TYPE_VISITED_VALUES, matrixWord, ownedBegin, loadOwned, loadOwnedRows, beginSums, clearSums.
#ifndef VKF_OWNED_OPERANDS_GLSL
#define VKF_OWNED_OPERANDS_GLSL

#include "matrix/query_words.glsl"

const uint TYPE_OWNED_HEADS = OWNS_KEYS ? TYPE_K : TYPE_Q;
const uint TYPE_OWNED_VALUES = OWNS_KEYS ? TYPE_V : TYPE_DOUT;
const uint TYPE_VISITED_HEADS = OWNS_KEYS ? TYPE_Q : TYPE_K;
const uint TYPE_VISITED_VALUES = OWNS_KEYS ? TYPE_DOUT : TYPE_V;

// Eight elements of a row in the type of the matrices; zeros past the last row and the last column.
uvec4 matrixWord(const HalfRows rows, const uint type, const uint row, const uint column, const uint dim) {
    if (row >= rows.count || column >= dim) {
        return uvec4(0);
    }
    uvec2 address = halfRowAddress(rows, row);
    if (type == VKF_STORED_F32) {
        return roundedRowWord(address, column, dim, false);
    }
    if (WHOLE_WORDS) {
        return Words(address).word[column / 8];
    }
    return gatherHalves(address, column, dim);
}

// A subgroup loads VKF_MATRIX_STAGED_TILES operands at a time through its part of shared memory.
const uint CHUNK_WORDS = VKF_MATRIX_STAGED_TILES * DEPTH_WORDS; // words in a row
const uint CHUNK_ROW = VKF_MATRIX_ROW_WORDS(VKF_MATRIX_STAGED_TILES, MATRIX_DEPTH);

const uint LANE_CHUNK_WORDS = MATRIX_ROWS * CHUNK_WORDS / LANES; // of an invocation

// All loads of an invocation are in flight together.
void placeChunk(const HalfRows rows, const uint type, const uint dim, const uint first, const uint word) {
    uvec4 words[LANE_CHUNK_WORDS];
    UNROLL for (uint i = 0; i < LANE_CHUNK_WORDS; i++) {
        uint place = i * LANES + lane;
        words[i] = matrixWord(rows, type, first + place / CHUNK_WORDS, (word + place % CHUNK_WORDS) * 8, dim);
    }
    UNROLL for (uint i = 0; i < LANE_CHUNK_WORDS; i++) {
        uint place = i * LANES + lane;
        stage[subgroup * SUBGROUP_WORDS + place / CHUNK_WORDS * CHUNK_ROW + place % CHUNK_WORDS] = words[i];
    }
}

// Loads the operands of a tensor into `tiles`, which has OWNED_TILES rows of `depths` matrices. It is a macro, because
// NVIDIA's compiler keeps arrays of matrices in memory if a function that it does not inline uses them.
#define VKF_LOAD_OWNED(rows, type, dim, first, depths, tiles)                                                         \
    UNROLL for (uint r = 0; r < OWNED_TILES; r++) {                                                                   \
        UNROLL for (uint d = 0; d < (depths); d++) {                                                                  \
            if (d % VKF_MATRIX_STAGED_TILES == 0) {                                                                   \
                subgroupBarrier(); /* the readers of the last chunk are done */                                       \
                placeChunk(rows, type, dim, (first) + r * MATRIX_ROWS,                                                \
                           (columnShare() * (depths) + d) * DEPTH_WORDS);                                             \
                subgroupMemoryBarrierShared();                                                                        \
                subgroupBarrier();                                                                                    \
            }                                                                                                         \
            coopMatLoad(tiles[r * (depths) + d], stage,                                                               \
                        subgroup * SUBGROUP_WORDS + d % VKF_MATRIX_STAGED_TILES * DEPTH_WORDS, CHUNK_ROW,             \
                        gl_CooperativeMatrixLayoutRowMajor);                                                          \
        }                                                                                                             \
    }

// The first owned row or key of the workgroup.
uint ownedBegin() {
    return OWNS_KEYS ? key_begin : item.row_begin;
}

void loadOwned() {
    uint first = ownedBegin() + ownedFirst();
    VKF_LOAD_OWNED(owned_heads, TYPE_OWNED_HEADS, HEAD_DIM, first, HEAD_DEPTHS, head_tile)
    if (NEEDS_DP) {
        VKF_LOAD_OWNED(owned_values, TYPE_OWNED_VALUES, VALUE_DIM, first, VALUE_DEPTHS, value_tile)
    }
}

// Loads the state of owned rows. It is that of an empty row for rows that do not exist.
void loadOwnedRows() {
    uvec2 states = VKF_BACKWARD_TABLE.row_state;
    uint first = item.row_begin + ownedFirst() + lanePlace(lane).x;
    UNROLL for (uint line = 0; line < (OWNS_KEYS ? 0 : LINES); line++) {
        uint row = first + ownedStep(line);
        vec2 state = loadRowState(states, item, min(row, SEQUENCE_ROWS(item) - 1));
        own_state[line] = row < SEQUENCE_ROWS(item) ? state : vec2(PLUS_INFINITY, 0.0);
        if (HAS_DROPOUT) {
            own_dropout[HAS_DROPOUT ? line : 0] = rowDropout(item, item.head, row);
        }
    }
}

void beginSums() {
    ds_factor = 1.0;
    if (thread == 0) {
        overflowed = 0;
    }
}

void clearSums() {
    special_values = false;
    UNROLL for (uint i = 0; i < SUMS; i++) {
        sum_tile[i] = ResultMatrix(0.0);
    }
}

#endif
