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
// backward_coopmat/pair_matrices.glsl adds what the visible pairs lose.
#ifndef VKF_BACKWARD_COOPMAT_STAGE_GLSL
#define VKF_BACKWARD_COOPMAT_STAGE_GLSL

#include "matrix/query_words.glsl"

const uint TYPE_OWNED_QK = OWNS_KEYS ? TYPE_K : TYPE_Q;
const uint TYPE_OWNED_DOV = OWNS_KEYS ? TYPE_V : TYPE_DOUT;
const uint TYPE_VISITED_QK = OWNS_KEYS ? TYPE_Q : TYPE_K;
const uint TYPE_VISITED_DOV = OWNS_KEYS ? TYPE_DOUT : TYPE_V;

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
    VKF_LOAD_OWNED(owned_qk, TYPE_OWNED_QK, HEAD_DIM, first, QK_SLICES, qk_matrix)
    if (NEEDS_DP) {
        VKF_LOAD_OWNED(owned_dov, TYPE_OWNED_DOV, VALUE_DIM, first, DOV_SLICES, dov_matrix)
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

const bool FETCHES_QK = WHOLE_WORDS && TYPE_VISITED_QK != VKF_STORED_F32;
const bool FETCHES_DOV = WHOLE_WORDS && TYPE_VISITED_DOV != VKF_STORED_F32;

// The first visited row or key of the walk's tile.
#define VKF_VISITED_BEGIN (OWNS_KEYS ? item.row_begin : key_begin)

// Writes zeros to the columns past the last word, which no tile overwrites.
void beginStages() {
    if (thread < 2) {
        last_empty[thread] = 0;
        last_special[thread] = 0;
    }
    tile_number = 0;
    if (QK_WORDS == QK_ROW - 1 && DOV_WORDS == DOV_ROW - 1) {
        return;
    }
    KEEP_LOOP for (uint i = thread; i < ALL_STAGE_WORDS; i += WORKGROUP_SIZE) {
        stage[i] = uvec4(0);
    }
}

// Fetches step `step` of the walk's tile. Loads past the last row or key read that one again.
void fetchStep(const uint step) {
    uint begin = VKF_VISITED_BEGIN;
    if (FETCHES_QK) {
        Words tile = Words(halfRowAddress(visited_qk, begin));
        UNROLL for (uint i = 0; i < QK_FETCHES; i++) {
            uint index = min(i * WORKGROUP_SIZE + thread, STEP * QK_WORDS - 1);
            uint row = min(step * STEP + index / QK_WORDS, visited_qk.count - 1 - begin);
            fetched_qk[step * QK_FETCHES + i] = tile.word[row * (visited_qk.row_stride / 16) + index % QK_WORDS];
        }
    }
    if (FETCHES_DOV) {
        Words tile = Words(halfRowAddress(visited_dov, begin));
        UNROLL for (uint i = 0; i < DOV_FETCHES; i++) {
            uint index = min(i * WORKGROUP_SIZE + thread, STEP * DOV_WORDS - 1);
            uint row = min(step * STEP + index / DOV_WORDS, visited_dov.count - 1 - begin);
            fetched_dov[step * DOV_FETCHES + i] = tile.word[row * (visited_dov.row_stride / 16) + index % DOV_WORDS];
        }
    }
}

void forgetTile() {
    FORGET(fetched_qk, 0, VISITED_STEPS * QK_FETCHES, uvec4(0));
    FORGET(fetched_dov, 0, VISITED_STEPS * DOV_FETCHES, uvec4(0));
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
    uint qk = number * STAGE_WORDS + step * STEP * QK_ROW;
    uint dov = number * STAGE_WORDS + STAGE_DOV + step * STEP * DOV_ROW;
    uint first = VKF_VISITED_BEGIN + step * STEP;
    if (FETCHES_QK) {
        UNROLL for (uint i = 0; i < QK_FETCHES; i++) {
            uint index = i * WORKGROUP_SIZE + thread;
            if (STEP * QK_WORDS % WORKGROUP_SIZE == 0 || index < STEP * QK_WORDS) {
                stageWord(number, qk + index / QK_WORDS * QK_ROW + index % QK_WORDS, fetched_qk[step * QK_FETCHES + i],
                          full);
            }
        }
    } else {
        stageElements(visited_qk, TYPE_VISITED_QK, HEAD_DIM, first, number, qk, QK_ROW, full);
    }
    if (FETCHES_DOV) {
        UNROLL for (uint i = 0; i < DOV_FETCHES; i++) {
            uint index = i * WORKGROUP_SIZE + thread;
            if (STEP * DOV_WORDS % WORKGROUP_SIZE == 0 || index < STEP * DOV_WORDS) {
                stageWord(number, dov + index / DOV_WORDS * DOV_ROW + index % DOV_WORDS,
                          fetched_dov[step * DOV_FETCHES + i], full);
            }
        }
    } else {
        stageElements(visited_dov, TYPE_VISITED_DOV, VALUE_DIM, first, number, dov, DOV_ROW, full);
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
        uint row = i < STAGE_DOV ? i / QK_ROW : (i - STAGE_DOV) / DOV_ROW;
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
    makeRowsFinite(present_stage + step * STEP * QK_ROW, QK_ROW);
    makeRowsFinite(present_stage + STAGE_DOV + step * STEP * DOV_ROW, DOV_ROW);
    barrier();
}

#endif
