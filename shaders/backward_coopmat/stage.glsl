// SPDX-License-Identifier: MIT
//
// Loads what a subgroup owns (operands from q and dout, or from k and v, and the state of owned rows), and moves
// visited tiles from device memory to shared memory. As in coopmat/stage.glsl, a fetch loads words into registers, and
// a second step stores them. Rows that are not whole words skip the fetch.
//
// Rows that give and take nothing (lse is infinite), and rows that do not exist, may hold anything. Their tile counts
// as a partial one, and zeroEmptyRows makes them zeros.
//
// Infinity and NaN in a partial tile: a pair that a mask drops has p = ds = 0, and 0 times infinity would be NaN. When
// all pairs of a step exist, makeStepFinite makes such elements zeros for its sums.
// backward_coopmat/matrix_gradients.glsl adds what the visible pairs lose.
#ifndef VKF_BACKWARD_COOPMAT_STAGE_GLSL
#define VKF_BACKWARD_COOPMAT_STAGE_GLSL

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

// A subgroup loads VKF_STAGED_MATRICES operands at a time through its part of shared memory.
const uint CHUNK_WORDS = VKF_STAGED_MATRICES * SLICE_WORDS; // words in a row
const uint CHUNK_ROW = VKF_MATRIX_ROW_WORDS(VKF_STAGED_MATRICES, MATRIX_DEPTH);

const uint LANE_CHUNK_WORDS = MATRIX_ROWS * CHUNK_WORDS / LANES; // of an invocation

// All loads of an invocation are in flight together.
void stageChunk(const HalfRows rows, const uint type, const uint dim, const uint first, const uint word) {
    uvec4 words[LANE_CHUNK_WORDS];
    UNROLL for (uint i = 0; i < LANE_CHUNK_WORDS; i++) {
        uint index = i * LANES + lane;
        words[i] = matrixWord(rows, type, first + index / CHUNK_WORDS, (word + index % CHUNK_WORDS) * 8, dim);
    }
    UNROLL for (uint i = 0; i < LANE_CHUNK_WORDS; i++) {
        uint index = i * LANES + lane;
        stage[subgroup * SUBGROUP_WORDS + index / CHUNK_WORDS * CHUNK_ROW + index % CHUNK_WORDS] = words[i];
    }
}

// Loads the operands of a tensor into `matrices`, which has OWNED_MATRICES rows of `slices` of them. It is a macro,
// because NVIDIA's compiler keeps arrays of matrices in memory if a function that it does not inline uses them.
#define VKF_LOAD_OWNED(rows, type, dim, first, slices, matrices)                                                       \
    UNROLL for (uint r = 0; r < OWNED_MATRICES; r++) {                                                                 \
        UNROLL for (uint d = 0; d < (slices); d++) {                                                                   \
            if (d % VKF_STAGED_MATRICES == 0) {                                                                        \
                subgroupBarrier(); /* the readers of the last chunk are done */                                        \
                stageChunk(rows, type, dim, (first) + r * MATRIX_ROWS, (columnShare() * (slices) + d) * SLICE_WORDS);  \
                subgroupMemoryBarrierShared();                                                                         \
                subgroupBarrier();                                                                                     \
            }                                                                                                          \
            coopMatLoad(matrices[r * (slices) + d], stage,                                                             \
                        subgroup * SUBGROUP_WORDS + d % VKF_STAGED_MATRICES * SLICE_WORDS, CHUNK_ROW,                  \
                        gl_CooperativeMatrixLayoutRowMajor);                                                           \
        }                                                                                                              \
    }

// The first owned row or key of the workgroup.
uint ownedBegin() {
    return OWNS_KEYS ? key_begin : item.row_begin;
}

void loadOwned() {
    uint first = ownedBegin() + ownedFirst();
    VKF_LOAD_OWNED(owned_heads, TYPE_OWNED_HEADS, HEAD_DIM, first, HEAD_SLICES, head_matrix)
    if (NEEDS_DP) {
        VKF_LOAD_OWNED(owned_values, TYPE_OWNED_VALUES, VALUE_DIM, first, VALUE_SLICES, value_matrix)
    }
}

// Loads the state of owned rows. It is that of an empty row for rows that do not exist.
void loadOwnedRows() {
    uvec2 states = VKF_BACKWARD_TABLE.row_state;
    uint first = item.row_begin + ownedFirst() + lanePosition(lane).x;
    UNROLL for (uint lane_row = 0; lane_row < (OWNS_KEYS ? 0 : LANE_ROWS); lane_row++) {
        uint row = first + ownedStep(lane_row);
        vec2 state = loadRowState(states, item, min(row, SEQUENCE_ROWS(item) - 1));
        own_state[lane_row] = row < SEQUENCE_ROWS(item) ? state : vec2(PLUS_INFINITY, 0.0);
        if (HAS_DROPOUT) {
            own_dropout[HAS_DROPOUT ? lane_row : 0] = rowDropout(item, item.head, row);
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
        sum_matrix[i] = ResultMatrix(0.0);
    }
}

#include "matrix/finite_halves.glsl"

#include "common/compilers.glsl"

const bool FETCHES_HEADS = WHOLE_WORDS && TYPE_VISITED_HEADS != VKF_STORED_F32;
const bool FETCHES_VALUES = WHOLE_WORDS && TYPE_VISITED_VALUES != VKF_STORED_F32;

// The first visited row or key of the walk's tile.
#define VKF_VISITED_BEGIN (OWNS_KEYS ? item.row_begin : key_begin)

// Writes zeros to the columns past the last word, which no tile overwrites.
void beginStages() {
    if (thread < 2) {
        last_empty[thread] = 0;
        last_special[thread] = 0;
    }
    tile_number = 0;
    if (HEAD_WORDS == HEAD_ROW - 1 && VALUE_WORDS == VALUE_ROW - 1) {
        return;
    }
    KEEP_LOOP for (uint i = thread; i < ALL_STAGE_WORDS; i += WORKGROUP_SIZE) {
        stage[i] = uvec4(0);
    }
}

// Fetches step `step` of the walk's tile. Loads past the last row or key read that one again.
void fetchStep(const uint step) {
    uint begin = VKF_VISITED_BEGIN;
    if (FETCHES_HEADS) {
        Words tile = Words(halfRowAddress(visited_heads, begin));
        UNROLL for (uint i = 0; i < HEAD_FETCHES; i++) {
            uint index = min(i * WORKGROUP_SIZE + thread, STEP * HEAD_WORDS - 1);
            uint row = min(step * STEP + index / HEAD_WORDS, visited_heads.count - 1 - begin);
            fetched_heads[step * HEAD_FETCHES + i] =
                tile.word[row * (visited_heads.row_stride / 16) + index % HEAD_WORDS];
        }
    }
    if (FETCHES_VALUES) {
        Words tile = Words(halfRowAddress(visited_values, begin));
        UNROLL for (uint i = 0; i < VALUE_FETCHES; i++) {
            uint index = min(i * WORKGROUP_SIZE + thread, STEP * VALUE_WORDS - 1);
            uint row = min(step * STEP + index / VALUE_WORDS, visited_values.count - 1 - begin);
            fetched_values[step * VALUE_FETCHES + i] =
                tile.word[row * (visited_values.row_stride / 16) + index % VALUE_WORDS];
        }
    }
}

void forgetTile() {
    FORGET(fetched_heads, 0, VISITED_STEPS * HEAD_FETCHES, uvec4(0));
    FORGET(fetched_values, 0, VISITED_STEPS * VALUE_FETCHES, uvec4(0));
    FORGET(fetched_states, 0, OWNS_KEYS ? STATE_FETCHES : 0, vec2(0.0));
}

// Stores a word of a tile at `index` in stage number `number`.
void stageWord(const uint number, const uint index, const uvec4 word, const bool full) {
    stage[index] = word;
    if (!full && SUMS > 0 && hasSpecialHalves(carriedExponents(word))) {
        VKF_SET_SHARED_FLAG(last_special[number], tile_number);
    }
}

// Moves rows that are not fetched, eight elements at a time.
void stageElements(const HalfRows rows, const uint type, const uint dim, const uint first, const uint number,
                   const uint to, const uint row_words, const bool full) {
    const uint words = row_words - 1;
    KEEP_LOOP for (uint index = thread; index < STEP * words; index += WORKGROUP_SIZE) {
        stageWord(number, to + index / words * row_words + index % words,
                  matrixWord(rows, type, first + index / words, index % words * 8, dim), full);
    }
}

// Stores what fetchStep fetched to stage number `number`.
void stageStep(const uint number, const uint step, const bool full) {
    uint heads = number * STAGE_WORDS + step * STEP * HEAD_ROW;
    uint values = number * STAGE_WORDS + STAGE_VALUES + step * STEP * VALUE_ROW;
    uint first = VKF_VISITED_BEGIN + step * STEP;
    if (FETCHES_HEADS) {
        UNROLL for (uint i = 0; i < HEAD_FETCHES; i++) {
            uint index = i * WORKGROUP_SIZE + thread;
            if (STEP * HEAD_WORDS % WORKGROUP_SIZE == 0 || index < STEP * HEAD_WORDS) {
                stageWord(number, heads + index / HEAD_WORDS * HEAD_ROW + index % HEAD_WORDS,
                          fetched_heads[step * HEAD_FETCHES + i], full);
            }
        }
    } else {
        stageElements(visited_heads, TYPE_VISITED_HEADS, HEAD_DIM, first, number, heads, HEAD_ROW, full);
    }
    if (FETCHES_VALUES) {
        UNROLL for (uint i = 0; i < VALUE_FETCHES; i++) {
            uint index = i * WORKGROUP_SIZE + thread;
            if (STEP * VALUE_WORDS % WORKGROUP_SIZE == 0 || index < STEP * VALUE_WORDS) {
                stageWord(number, values + index / VALUE_WORDS * VALUE_ROW + index % VALUE_WORDS,
                          fetched_values[step * VALUE_FETCHES + i], full);
            }
        }
    } else {
        stageElements(visited_values, TYPE_VISITED_VALUES, VALUE_DIM, first, number, values, VALUE_ROW, full);
    }
}

// Fetches the states of the visited rows of the walk's tile. They are not used before they are staged, which would wait
// for them here.
void fetchStates() {
    UNROLL for (uint i = 0; i < (OWNS_KEYS ? STATE_FETCHES : 0); i++) {
        uint row = item.row_begin + min(i * WORKGROUP_SIZE + thread, VISITED - 1);
        uint existing = min(row, SEQUENCE_ROWS(item) - 1);
        fetched_states[i] = uintBitsToFloat(Word2(add64(visited_states, uvec2(existing * 8, 0))).value);
    }
}

// Stores the states to stage number `number`, PLUS_INFINITY for rows that do not exist, and what dropout needs of rows.
void stageStates(const uint number) {
    UNROLL for (uint i = 0; i < (OWNS_KEYS ? STATE_FETCHES : 0); i++) {
        uint index = i * WORKGROUP_SIZE + thread;
        if (index < VISITED) {
            vec2 state = item.row_begin + index < SEQUENCE_ROWS(item) ? fetched_states[i] : vec2(PLUS_INFINITY, 0.0);
            row_states[OWNS_KEYS ? number * VISITED + index : 0] = state;
            if (state.x == PLUS_INFINITY) {
                VKF_SET_SHARED_FLAG(last_empty[number], tile_number);
            }
            if (HAS_DROPOUT) {
                RowDropout dropout = rowDropout(item, item.head, item.row_begin + index);
                row_dropouts[OWNS_KEYS && HAS_DROPOUT ? number * VISITED + index : 0] =
                    HAS_DROPOUT_MASK ? uvec4(dropout.mask.address, dropout.mask.first, 0) : uvec4(dropout.key, 0, 0);
            }
        }
    }
}

// Makes the empty rows of a stage zeros.
void zeroEmptyRows(const uint number) {
    KEEP_LOOP for (uint i = thread; i < STAGE_WORDS; i += WORKGROUP_SIZE) {
        uint row = i < STAGE_VALUES ? i / HEAD_ROW : (i - STAGE_VALUES) / VALUE_ROW;
        if (row_states[OWNS_KEYS ? number * VISITED + row : 0].x == PLUS_INFINITY) {
            stage[number * STAGE_WORDS + i] = uvec4(0);
        }
    }
}

// Makes infinity and NaN in rows of the present stage zeros.
void makeRowsFinite(const uint begin, const uint row_words) {
    KEEP_LOOP for (uint i = thread; i < STEP * row_words; i += WORKGROUP_SIZE) {
        uvec4 word = stage[begin + i];
        stage[begin + i] = withoutSpecialHalves(word, carriedExponents(word));
    }
}

// Makes infinity and NaN in a step of the present tile zeros, after the products that read them.
void makeStepFinite(const uint step) {
    barrier(); // the readers of the step are done
    makeRowsFinite(present_stage + step * STEP * HEAD_ROW, HEAD_ROW);
    makeRowsFinite(present_stage + STAGE_VALUES + step * STEP * VALUE_ROW, VALUE_ROW);
    barrier();
}

#endif
