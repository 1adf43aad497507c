// SPDX-License-Identifier: MIT
//
// Probabilities of all query rows or of chosen ones, made from q, k and lse once o is done: p = 2^(s - lse log2(e)), as
// a backward pass makes them that kept lse and not P (Dao et al. 2022, arXiv 2205.14135, appendix B.2). One workgroup
// makes one tile: some rows of one head, some keys. Keys that a row does not see get zeros, also those past the
// sequence's end. A tile of which no row sees a key reads nothing.
//
// lse is kept instead of (m, l): it is rounded to fp32 as scores are, so it is no less exact than they are. p loses
// about |lse| 2^-23 of its value.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "common/compilers.glsl"
#include "shared/phase_params.h"
#define VKF_PUSH_CONSTANTS ProbabilitiesParams
#define VKF_STAGES_NO_V
#define VKF_LANES_ID VKF_ID_ROW_LANES
#include "common/params.glsl"
#include "scalar/scalar_tile.glsl"

layout(constant_id = VKF_ID_CHOSEN_ROWS) const bool CHOSEN_ROWS = false;

// A lane has its keys in fours, so that it stores words of 16 bytes: key e of word w of a lane is staged where the lane
// looks for its key 4 w + e.
const uint WORD_KEYS = 4 * LANES;
#define VKF_STAGED_KEY(key) (((key) / WORD_KEYS * 4 + (key) % 4) * LANES + (key) % WORD_KEYS / 4)

#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/block_mask.glsl"
#include "scalar/stage.glsl"
#include "scores/final_score.glsl"
#include "scores/score_terms.glsl"
#include "masks/keep.glsl"
#include "scalar/scores.glsl"

const uint NO_ROW = 0xffffffffu;

shared uint row_numbers[TILE_ROWS]; // NO_ROW where there is none
shared uint row_sees[TILE_ROWS];    // 1 if the row may see some key of the tile

Item item;
uint row_begin; // of the tile, among the rows that have probabilities
uint key_begin;
uint thread, group, lane;
float slope; // of the item's head

uint rowNumberOf(const uint place) {
    uint row = place;
    if (place < params.row_count && CHOSEN_ROWS) {
        row = Word(add64(params.chosen_rows, multiply64(place, 4))).value;
    }
    return place < params.row_count && row < params.query_rows ? row : NO_ROW;
}

// Blocks of the tile's keys, as isOpen takes them.
uint openInTile(const uint row) {
    return HAS_BLOCK_MASK ? openBlocks(row, key_begin) : 0;
}

// Whether the row may see a key of the tile.
bool seesTile(const uint row) {
    if (row == NO_ROW) {
        return false;
    }
    ivec2 window = windowKeys(item, row);
    int first = int(key_begin);
    bool sees = window.x < window.y && first < window.y && first + int(TILE_KEYS) > window.x;
    sees = sees || (FIRST_KEYS != 0 && first < firstKeysOf(item, row));
    if (HAS_BLOCK_MASK && sees) {
        uint blocks = (key_begin + TILE_KEYS - 1) / BLOCK - key_begin / BLOCK;
        sees = (openInTile(row) & (2u << blocks) - 1) != 0;
    }
    return sees;
}

// The tile's row numbers, and whether any of its rows sees any of its keys; the same in all invocations.
bool chooseRows() {
    KEEP_LOOP for (uint place = thread; place < TILE_ROWS; place += WORKGROUP_SIZE) {
        uint row = rowNumberOf(row_begin + place);
        row_numbers[place] = row;
        row_sees[place] = seesTile(row) ? 1 : 0;
    }
    barrier();
    uint any = 0;
    KEEP_LOOP for (uint place = 0; place < TILE_ROWS; place++) {
        any |= row_sees[place];
    }
    return any != 0;
}

// Columns of the chosen rows of q.
void placeRows(const Rows q, const uint chunk) {
    KEEP_LOOP for (uint place = thread; place < TILE_ROWS * CHUNK_DIM4; place += WORKGROUP_SIZE) {
        uint row = place / CHUNK_DIM4;
        uint word = place % CHUNK_DIM4;
        q_stage[row * STAGED_WORDS + word] =
            loadWord(q, TYPE_Q, HEAD_DIM, row_numbers[row], chunk * CHUNK_DIM4 + word);
    }
}

void fetchOperands(const Rows q, const Rows k, const uint chunk) {
    if (!CHOSEN_ROWS) {
        fetchQ(q, row_begin, chunk, thread);
    }
    fetchK(k, key_begin, chunk, thread);
}

void computeScores() {
    Rows q = rowsOf(params.q, VKF_Q, TYPE_Q, HEAD_DIM, item, params.query_rows);
    Rows k = rowsOf(params.k, VKF_K, TYPE_K, HEAD_DIM, item, item.keys);
    fetchOperands(q, k, 0);
    KEEP_LOOP for (uint chunk = 0; chunk < DIM_CHUNKS; chunk++) {
        barrier(); // the last readers of the stages are done
        if (CHOSEN_ROWS) {
            placeRows(q, chunk);
        } else {
            placeQ(q, row_begin, chunk, thread);
        }
        placeK(k, key_begin, chunk, thread);
        barrier();
        if (chunk + 1 < DIM_CHUNKS) {
            fetchOperands(q, k, chunk + 1);
        }
        accumulateScores(group, lane);
    }
}

// lse in units of log2; 0 where it is -infinity, because the difference of two infinities is NaN. Such a row has
// probabilities of 0.
float lseOf(const uint row) {
    uvec2 index = rowNumber(item, row);
    uvec2 bytes = SHIFT64(index, 2);
    float lse = uintBitsToFloat(Word(add64(params.lse, bytes)).value) * LOG2E;
    return lse == MINUS_INFINITY ? 0.0 : lse;
}

// Scores of one row, as this invocation has them, become probabilities.
void weighRow(const uint tile_row, const uint row) {
    ivec2 visible = visibleKeys(item, row);
    uint open = openInTile(row);
    RowKeep keep = rowKeep(item, item.head, row);
    float lse = lseOf(row);
    uint first_key = key_begin + lane * 4;
    RowTerms terms = rowTerms(item, item.head, slope, row, first_key);
    UNROLL for (uint i = 0; i < THREAD_KEYS; i++) {
        uint offset = i / 4 * WORD_KEYS + i % 4;
        uint key = first_key + offset;
        float s = withTerms(terms, offset, finalScore(s_tile[tile_row * THREAD_KEYS + i]));
        bool sees = isVisible(visible, key) && (!HAS_BLOCK_MASK || isOpen(open, key_begin, key)) && keeps(keep, key);
        s_tile[tile_row * THREAD_KEYS + i] = sees ? exp2(s - lse) : 0.0;
    }
}

void storeProbabilities() {
    uvec2 head = headAddress(params.probabilities, VKF_PROBABILITIES, item.batch, item.head);
    bool aligned4 = isAligned4(head, params.row_stride[VKF_PROBABILITIES], VKF_STORED_F32);
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        uint place = row_begin + tileRow(group, row);
        if (place < params.row_count) {
            uvec2 address = rowAddress(head, VKF_PROBABILITIES, place);
            UNROLL for (uint i = 0; i < THREAD_KEYS; i += 4) {
                uint at = row * THREAD_KEYS + i;
                storeRow4(address, key_begin + lane * 4 + i / 4 * WORD_KEYS, params.keys, VKF_STORED_F32, aligned4,
                          vec4(s_tile[at], s_tile[at + 1], s_tile[at + 2], s_tile[at + 3]));
            }
        }
    }
}

void main() {
    thread = threadIndex();
    group = thread / LANES;
    lane = thread % LANES;
    uint number = params.first_item + gl_WorkGroupID.x;
    uint key_tiles = (params.keys + TILE_KEYS - 1) / TILE_KEYS;
    uint row_tiles = (params.row_count + TILE_ROWS - 1) / TILE_ROWS;
    key_begin = number % key_tiles * TILE_KEYS;
    row_begin = number / key_tiles % row_tiles * TILE_ROWS;
    uint head = number / key_tiles / row_tiles;
    item = itemOf(head * ((params.query_rows + TILE_ROWS - 1) / TILE_ROWS)); // of the head, whichever its rows
    beginBlocks(item);
    slope = slopeOf(item.head);

    clearScores();
    if (chooseRows()) {
        computeScores();
        UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
            uint i = row_numbers[tileRow(group, row)];
            if (i != NO_ROW) {
                weighRow(row, i);
            } else { // q was zeros, but k may have been infinite or NaN
                UNROLL for (uint key = 0; key < THREAD_KEYS; key++) {
                    s_tile[row * THREAD_KEYS + key] = 0.0;
                }
            }
        }
    }
    storeProbabilities();
}
