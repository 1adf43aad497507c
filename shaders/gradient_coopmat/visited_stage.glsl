// SPDX-License-Identifier: MIT
//
// Moves visited tiles from device memory to shared memory, a step at a time. As in coopmat/matrix_stage.glsl, a fetch
// loads words into registers, and a placement stores them. Rows that are not whole words skip the fetch.
//
// With two stages, the kernel fetches and places a step of the next tile while it computes a step of this one.
//
// Rows that give and take nothing (lse is infinite), and rows that do not exist, may hold anything. zeroEmptyRows makes
// them zeros, so that such a tile can still be a full one.
//
// Needs: gradient_coopmat/pair_state.glsl, gradient_coopmat/owned_operands.glsl, gradient/gradient_table.glsl,
// scalar/row_state.glsl, scores/dropout.glsl.
// Provides: beginStages, fetchStep, forgetStep, placeStep, zeroEmptyRows.
#ifndef VKF_VISITED_STAGE_GLSL
#define VKF_VISITED_STAGE_GLSL

const bool FETCHES_HEADS = WHOLE_WORDS && TYPE_VISITED_HEADS != VKF_STORED_F32;
const bool FETCHES_VALUES = WHOLE_WORDS && TYPE_VISITED_VALUES != VKF_STORED_F32;

// The first visited row or key of the walk's tile.
#define VKF_VISITED_BEGIN (OWNS_KEYS ? item.row_begin : key_begin)

// Writes zeros to the columns past the last word, which no tile overwrites.
void beginStages() {
    if (thread < 2) {
        last_empty[thread] = 0;
    }
    tile_number = 0;
    if (HEAD_WORDS == HEAD_ROW - 1 && VALUE_WORDS == VALUE_ROW - 1) {
        return;
    }
    KEEP_LOOP for (uint i = thread; i < ALL_STAGE_WORDS; i += WORKGROUP_SIZE) {
        stage[i] = uvec4(0);
    }
}

// Fetches step `step` of the walk's tile. Places past the last row or key read that one again.
void fetchStep(const uint step) {
    uint begin = VKF_VISITED_BEGIN;
    if (FETCHES_HEADS) {
        Words tile = Words(halfRowAddress(visited_heads, begin));
        UNROLL for (uint i = 0; i < HEAD_FETCHES; i++) {
            uint place = min(i * WORKGROUP_SIZE + thread, STEP * HEAD_WORDS - 1);
            uint row = min(step * STEP + place / HEAD_WORDS, visited_heads.count - 1 - begin);
            fetched_heads[i] = tile.word[row * (visited_heads.row_stride / 16) + place % HEAD_WORDS];
        }
    }
    if (FETCHES_VALUES) {
        Words tile = Words(halfRowAddress(visited_values, begin));
        UNROLL for (uint i = 0; i < VALUE_FETCHES; i++) {
            uint place = min(i * WORKGROUP_SIZE + thread, STEP * VALUE_WORDS - 1);
            uint row = min(step * STEP + place / VALUE_WORDS, visited_values.count - 1 - begin);
            fetched_values[i] = tile.word[row * (visited_values.row_stride / 16) + place % VALUE_WORDS];
        }
    }
    if (OWNS_KEYS) {
        uint row = begin + step * STEP + min(thread, STEP - 1);
        vec2 state = loadRowState(VKF_GRADIENT_TABLE.row_state, item, min(row, SEQUENCE_ROWS(item) - 1));
        fetched_state = row < SEQUENCE_ROWS(item) ? state : vec2(PLUS_INFINITY, 0.0);
    }
}

void forgetStep() {
    FORGET(fetched_heads, 0, HEAD_FETCHES, uvec4(0))
    FORGET(fetched_values, 0, VALUE_FETCHES, uvec4(0))
    fetched_state = vec2(0.0);
}

// Moves rows that are not fetched, eight elements at a time.
void placeElements(const HalfRows rows, const uint type, const uint dim, const uint first, const uint to,
                   const uint row_words) {
    const uint words = row_words - 1;
    KEEP_LOOP for (uint place = thread; place < STEP * words; place += WORKGROUP_SIZE) {
        stage[to + place / words * row_words + place % words] =
            matrixWord(rows, type, first + place / words, place % words * 8, dim);
    }
}

// Stores what fetchStep fetched to stage number `number`.
void placeStep(const uint number, const uint step) {
    uint heads = number * STAGE_WORDS + step * STEP * HEAD_ROW;
    uint values = number * STAGE_WORDS + STAGE_VALUES + step * STEP * VALUE_ROW;
    uint first = VKF_VISITED_BEGIN + step * STEP;
    if (FETCHES_HEADS) {
        UNROLL for (uint i = 0; i < HEAD_FETCHES; i++) {
            uint place = i * WORKGROUP_SIZE + thread;
            if (STEP * HEAD_WORDS % WORKGROUP_SIZE == 0 || place < STEP * HEAD_WORDS) {
                stage[heads + place / HEAD_WORDS * HEAD_ROW + place % HEAD_WORDS] = fetched_heads[i];
            }
        }
    } else {
        placeElements(visited_heads, TYPE_VISITED_HEADS, HEAD_DIM, first, heads, HEAD_ROW);
    }
    if (FETCHES_VALUES) {
        UNROLL for (uint i = 0; i < VALUE_FETCHES; i++) {
            uint place = i * WORKGROUP_SIZE + thread;
            if (STEP * VALUE_WORDS % WORKGROUP_SIZE == 0 || place < STEP * VALUE_WORDS) {
                stage[values + place / VALUE_WORDS * VALUE_ROW + place % VALUE_WORDS] = fetched_values[i];
            }
        }
    } else {
        placeElements(visited_values, TYPE_VISITED_VALUES, VALUE_DIM, first, values, VALUE_ROW);
    }
    if (OWNS_KEYS && thread < STEP) {
        uint place = number * VISITED + step * STEP + thread;
        row_states[place] = fetched_state;
        if (fetched_state.x == PLUS_INFINITY) {
            last_empty[number] = tile_number;
        }
        if (HAS_DROPOUT) {
            RowDropout dropout = rowDropout(item, item.head, first + thread);
            row_dropouts[HAS_DROPOUT ? place : 0] =
                HAS_DROPOUT_MASK ? uvec4(dropout.mask.address, dropout.mask.first, 0) : uvec4(dropout.key, 0, 0);
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

#endif
