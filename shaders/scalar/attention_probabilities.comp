// SPDX-License-Identifier: MIT
//
// Probabilities of all query rows, or of chosen ones. After attention has computed o, this kernel computes them from q,
// k and lse: p = 2^(s - lse log2(e)). A backward pass that stores lse and not P does it in the same way (Dao et al.
// 2022, arXiv 2205.14135, appendix B.2).
//
// One workgroup computes one tile: some rows of one head and some keys. A key that a row does not see gets 0, and so
// does a key past the end of the sequence. A tile that the window, the first keys and the block mask leave empty reads
// neither q nor k.
//
// The kernel uses lse instead of (m, l). lse and scores are both rounded to fp32, so lse is as exact as the scores. The
// relative error of p is about |lse| 2^-23. Attention may have summed a score in another order, so that s is more than
// lse. p is therefore limited to 1: with huge scores, it would be infinite.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "common/compilers.glsl"
#include "shared/attention_params.h"
#define VKF_PUSH_CONSTANTS ProbabilitiesParams
#define VKF_LANES_ID VKF_ID_ROW_LANES
#include "common/params.glsl"
#include "scalar/scalar_tile.glsl"
#define KV_FETCHES K_FETCHES // the kernel reads no v
#define KV_STAGE_WORDS VKF_K_WORDS(TILE_KEYS, CHUNK_DIM4)

layout(constant_id = VKF_ID_CHOSEN_ROWS) const bool CHOSEN_ROWS = false;

// A lane owns words of four neighbouring keys, so that it stores words of 16 bytes. scalar/scores.glsl reads key i of a
// lane in row lane + i LANES of the stage. This macro stages key e of word w of a lane as its key i = 4 w + e.
const uint WORD_KEYS = 4 * LANES;
#define VKF_STAGED_KEY(key) (((key) / WORD_KEYS * 4 + (key) % 4) * LANES + (key) % WORD_KEYS / 4)

#include "common/address.glsl"
#include "common/element.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/block_mask.glsl"
#include "scalar/stage.glsl"
#include "scores/units.glsl"
#include "scores/final_score.glsl"
#include "scores/score_terms.glsl"
#include "masks/per_key_masks.glsl"
#include "scalar/scores.glsl"

const uint NO_ROW = 0xffffffffu;

shared uint row_numbers[TILE_ROWS]; // query rows of the tile; NO_ROW where none exists
shared uint row_sees[TILE_ROWS];    // 1 if the row may see some key of the tile

Item item;
uint row_begin; // first row of the tile, counted among the rows that have probabilities
uint key_begin;
uint thread, group, lane;
float slope; // of the item's head

uint rowNumberOf(const uint index) {
    uint row = index;
    if (index < params.row_count && CHOSEN_ROWS) {
        row = Word(add64(params.chosen_rows, multiply64(index, 4))).value;
    }
    return index < params.row_count && row < params.query_rows ? row : NO_ROW;
}

// Bits of the blocks of the tile's keys, for isOpen.
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
        sees = (openInTile(row) & ((2u << blocks) - 1)) != 0;
    }
    return sees;
}

// Sets row_numbers. Returns whether some row of the tile may see some of its keys; all invocations get the same result.
bool chooseRows() {
    KEEP_LOOP for (uint index = thread; index < TILE_ROWS; index += WORKGROUP_SIZE) {
        uint row = rowNumberOf(row_begin + index);
        row_numbers[index] = row;
        row_sees[index] = seesTile(row) ? 1 : 0;
    }
    barrier();
    uint any = 0;
    KEEP_LOOP for (uint index = 0; index < TILE_ROWS; index++) {
        any |= row_sees[index];
    }
    return any != 0;
}

// Stages a chunk of columns of the chosen rows of q.
void stageRows(const Rows q, const uint chunk) {
    KEEP_LOOP for (uint index = thread; index < TILE_ROWS * CHUNK_DIM4; index += WORKGROUP_SIZE) {
        uint row = index / CHUNK_DIM4;
        uint word = index % CHUNK_DIM4;
        q_stage[row * STAGED_WORDS + word] = loadWord(q, TYPE_Q, HEAD_DIM, row_numbers[row], chunk * CHUNK_DIM4 + word);
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
            stageRows(q, chunk);
        } else {
            stageQ(q, row_begin, chunk, thread);
        }
        stageK(k, key_begin, chunk, thread);
        barrier();
        if (chunk + 1 < DIM_CHUNKS) {
            fetchOperands(q, k, chunk + 1);
        }
        accumulateScores(group, lane);
    }
}

// lse in the unit of scores; 0 instead of -infinity, because the difference of two infinities is NaN. All probabilities
// of a row with lse = -infinity are 0.
float lseOf(const uint row) {
    uvec2 index = rowNumber(item, row);
    uvec2 bytes = SHIFT64(index, 2);
    float lse = toScoreUnit(uintBitsToFloat(Word(add64(params.lse, bytes)).value));
    return lse == MINUS_INFINITY ? 0.0 : lse;
}

// Limits a probability to 1, and keeps a NaN. Bits are compared: of a comparison and a selection of floats, NVIDIA's
// compiler makes a minimum, and that drops a NaN.
float atMostOne(const float p) {
    const uint one = 0x3f800000u;
    const uint infinity = 0x7f800000u; // a NaN without a sign is above it
    uint bits = floatBitsToUint(p);
    return bits > one && bits <= infinity ? 1.0 : p;
}

// Bit i is set if key number i of this invocation has a page. Bits past the last key have no meaning.
uint presentKeys() {
    uint present = 0;
    UNROLL for (uint i = 0; i < (HAS_PAGES ? THREAD_KEYS : 0); i++) {
        uint key = min(key_begin + lane * 4 + i / 4 * WORD_KEYS + i % 4, item.keys - 1);
        present |= IS_PAGE(tableEntry(item.batch, key)) ? 1u << i : 0u;
    }
    return present;
}

// The scores of one row in this invocation become probabilities.
void computeProbabilities(const uint tile_row, const uint row, const uint present_keys) {
    ivec2 visible = visibleKeys(item, row);
    uint open = openInTile(row);
    RowMasks masks = rowMasks(item, item.head, row);
    float lse = lseOf(row);
    uint first_key = key_begin + lane * 4;
    RowTerms terms = rowTerms(item, item.head, slope, row, first_key);
    UNROLL for (uint i = 0; i < THREAD_KEYS; i++) {
        uint offset = i / 4 * WORD_KEYS + i % 4;
        uint key = first_key + offset;
        float s = withTerms(terms, offset, finalScore(s_tile[tile_row * THREAD_KEYS + i]));
        bool sees = isVisible(visible, key) && (!HAS_BLOCK_MASK || isOpen(open, key_begin, key)) &&
                    isUnmasked(masks, key) && (!HAS_PAGES || !LACKS_BIT(present_keys, i));
        s_tile[tile_row * THREAD_KEYS + i] = sees ? atMostOne(power(s - lse)) : 0.0;
    }
}

void storeProbabilities() {
    uvec2 head = headAddress(params.probabilities, VKF_PROBABILITIES, item.batch, item.head);
    bool aligned4 = isAligned4(head, params.row_stride[VKF_PROBABILITIES], VKF_STORED_F32);
    UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
        uint index = row_begin + tileRow(group, row);
        if (index < params.row_count) {
            uvec2 address = rowAddress(head, VKF_PROBABILITIES, index);
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
    uint key_tiles = VKF_TILES(params.keys, TILE_KEYS);
    uint row_tiles = VKF_TILES(params.row_count, TILE_ROWS);
    key_begin = number % key_tiles * TILE_KEYS;
    row_begin = number / key_tiles % row_tiles * TILE_ROWS;
    uint head = number / key_tiles / row_tiles;
    item = itemOf(head * VKF_TILES(params.query_rows, TILE_ROWS)); // only the head matters, not the rows
    beginBlocks(item);
    slope = slopeOf(item.head);
    loadScales(item.kv_head);

    clearScores();
    if (chooseRows()) {
        computeScores();
        uint present_keys = presentKeys();
        UNROLL for (uint row = 0; row < THREAD_ROWS; row++) {
            uint i = row_numbers[tileRow(group, row)];
            if (i != NO_ROW) {
                computeProbabilities(row, i, present_keys);
            } else { // q was 0, but k may have been infinite or NaN
                UNROLL for (uint key = 0; key < THREAD_KEYS; key++) {
                    s_tile[row * THREAD_KEYS + key] = 0.0;
                }
            }
        }
    }
    storeProbabilities();
}
