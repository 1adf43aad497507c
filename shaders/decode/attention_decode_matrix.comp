// SPDX-License-Identifier: MIT
//
// Fused attention of few query rows against many keys on cooperative matrices: fp16 or bf16 products, fp32
// sums. As attention_decode.comp it is bound by reading K and V once, and takes more rows at that: a matrix
// of packed rows (item.glsl) costs what one row does. k and v go from device memory straight into the registers that
// make up their matrices (decode_matrix_tile.glsl; decode_blocks.glsl for block types), without shared memory, and so
// nobody waits for anybody until the end:
//
//     each subgroup owns ROW_TILES matrices of rows, KEY_SUBGROUPS of them the same ones, and takes MATRIX_ROWS keys
//     at a time, in turn with the others of the same rows
//
// s and o are transposed, k q^T and v^T p: the rows of q are the columns of every matrix. p alone changes hands
// between the products, through shared memory of its subgroup (decode_matrix_turn.glsl).
//
// The k of the next keys is in flight while o takes in the present ones, their v while the next scores are
// computed. All subgroups walk over the same tiles of keys, those that a mask cuts last, in a loop of their own: the
// compiler must see that no branch divides a subgroup. m is in whole numbers, so that factors are powers of two.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

#define VKF_DEALT_BLOCKS
#define VKF_PAGES

#include "common/compilers.glsl"
#include "common/params.glsl"
#include "common/address.glsl"
#include "common/element.glsl"
#include "decode/decode_matrix_tile.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/keep.glsl"
#include "scores/final_score.glsl"
#include "scores/score_terms.glsl"
#include "scores/sink.glsl"
#include "scores/dropout.glsl"
#include "decode/decode_item.glsl"
#include "decode/decode_load.glsl"
#include "cache/paging.glsl"
#include "matrix/special_values.glsl"

#include "decode/decode_matrix_state.glsl"
#include "decode/decode_blocks.glsl"
#include "decode/decode_block_codes.glsl"
#include "decode/decode_block_columns.glsl"
#include "decode/decode_matrix_turn.glsl"
#include "decode/decode_matrix_join.glsl"
#include "decode/decode_matrix_begin.glsl"
#include "decode/decode_matrix_fetch.glsl"

// s = k q^T, not scaled.
void computeProducts() {
    UNROLL for (uint r = 0; r < ROW_TILES; r++) {
        s_tile[r] = ResultMatrix(0.0);
    }
    UNROLL for (uint word = 0; word < K_LANE_WORDS; word++) {
        uvec4 k_words[LEFT_SLOTS];
        UNROLL for (uint slot = 0; slot < LEFT_SLOTS; slot++) {
            k_words[slot] = K_BLOCKS ? keyWord(slot, word) : fetched_k[slot * K_LANE_WORDS + word];
        }
        UNROLL for (uint i = 0; i < WORD_DEPTHS; i++) {
            LeftMatrix k_tile;
            UNROLL for (uint e = 0; e < LEFT_ELEMENTS; e++) {
                k_tile[e] = halfOf(k_words[e / SLOT_ELEMENTS], i * SLOT_ELEMENTS + e % SLOT_ELEMENTS);
            }
            UNROLL for (uint r = 0; r < ROW_TILES; r++) {
                s_tile[r] = coopMatMulAdd(k_tile, q_tile[r * DIM_TILES + word * WORD_DEPTHS + i], s_tile[r]);
            }
        }
    }
}

#include "decode/decode_matrix_scores.glsl"
#include "decode/decode_matrix_softmax.glsl"

// o += v^T p. `cut` says that not all rows see the same keys.
void accumulateOutput(const bool partial) {
    turnProbabilities();
    UNROLL for (uint word = 0; word < V_LANE_WORDS; word++) {
        if (V_BLOCKS) {
            makeValues(word, partial);
        }
        UNROLL for (uint i = 0; i < WORD_COLUMNS; i++) {
            LeftMatrix v_tile;
            UNROLL for (uint e = 0; e < LEFT_ELEMENTS; e++) {
                uint column = i * LEFT_SLOTS + e / SLOT_ELEMENTS; // of the word
                v_tile[e] = V_BLOCKS ? valueOfBlocks(e % SLOT_ELEMENTS, column)
                                     : halfOf(fetched_v[e % SLOT_ELEMENTS * V_LANE_WORDS + word], column);
            }
            UNROLL for (uint r = 0; r < ROW_TILES; r++) {
                uint tile = r * VALUE_TILES + word * WORD_COLUMNS + i;
                o_tile[tile] = coopMatMulAdd(v_tile, p_tile[r], o_tile[tile]);
            }
        }
    }
}

// The first key of this subgroup in a tile of keys.
uint subgroupKey(const uint tile) {
    return keys.x + tile * TILE_KEYS + subgroup % KEY_SUBGROUPS * MATRIX_ROWS;
}

// Tiles [first, end), of which every row sees all keys. Fetches stand in branches as in attention_decode.comp.
void attendFull(const uint first, const uint end) {
    fetchPages(subgroupKey(first), false);
    fetchKeys(subgroupKey(first), false);
    fetchValues(subgroupKey(first), false);
    fetchPages(subgroupKey(first + 1), true);
    loadQueries(); // while the first keys are on their way
    KEEP_LOOP for (uint tile = first; tile < end; tile++) {
        computeProducts();
        IF_KEEPING_LOADS_HERE(tile + 1 < end) {
            fetchKeys(subgroupKey(tile + 1), false);
        } else {
            forgetKeys();
        }
        if (SCALED_EARLY) {
            finishScores(subgroupKey(tile));
        }
        updateSoftmax(subgroupKey(tile));
        accumulateOutput(false);
        IF_KEEPING_LOADS_HERE(tile + 1 < end) {
            fetchValues(subgroupKey(tile + 1), false);
            fetchPages(subgroupKey(tile + 2), true);
        } else {
            forgetValues();
        }
    }
}

// A tile that a mask or the end of the keys cuts.
void attendPartial(const uint key_begin) {
    fetchPages(key_begin, true);
    fetchKeys(key_begin, true);
    fetchValues(key_begin, true);
    computeProducts();
    if (SCALED_EARLY) {
        finishScores(key_begin);
    }
    dropInvisible(key_begin);
    if (!V_BLOCKS) {
        finiteValues(key_begin);
    }
    updateSoftmax(key_begin);
    accumulateOutput(true);
}

// Tiles [x, y) of the split's `tiles` of which every row sees all keys; none of these if y = x, and none where a mask
// is asked key by key.
uvec2 fullTiles(const uint tiles) {
    if (HAS_KEEP) {
        return uvec2(0);
    }
    ivec2 seen = clamp(commonKeys(item), ivec2(keys.x), ivec2(keys.y)) - int(keys.x);
    uint first = min((uint(seen.x) + TILE_KEYS - 1) / TILE_KEYS, tiles);
    return uvec2(first, max(uint(seen.y) / TILE_KEYS, first));
}

void main() {
    thread = threadIndex();
    subgroup = thread / LANES;
    lane = thread % LANES;
    lane_place = lanePlace(lane);
    item = itemOf(params.first_item + gl_WorkGroupID.x);
    if (isIdle(item)) {
        return;
    }
    first_row = item.row_begin + subgroup / KEY_SUBGROUPS * SUBGROUP_ROWS;
    k_head = keyHeadAddress(params.k, VKF_K, item);
    v_head = keyHeadAddress(params.v, VKF_V, item);
    keys = splitKeys(item, TILE_KEYS);
    if (thread == 0) {
        special_values = 0u;
    }
    barrier();
    clearState();
    if (keys.x < keys.y) {
        uint tiles = (keys.y - keys.x + TILE_KEYS - 1) / TILE_KEYS;
        uvec2 full = fullTiles(tiles);
        if (full.x < full.y) {
            attendFull(full.x, full.y);
        } else {
            loadQueries();
        }
        KEEP_LOOP for (uint i = 0; i < tiles - (full.y - full.x); i++) {
            attendPartial(subgroupKey(i < full.x ? i : i + (full.y - full.x)));
        }
    }
    writeResults();
}
