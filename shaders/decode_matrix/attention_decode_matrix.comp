// SPDX-License-Identifier: MIT
//
// Fused attention of few query rows against many keys on cooperative matrices, with fp16 or bf16 products and fp32
// sums. It is the split form of FlashAttention-2 ("Flash-Decoding"): merge/merge_splits.comp merges the key splits.
// Numbers in comments are lines of algorithm 1 (Dao 2023, arXiv 2307.08691):
//
//      3       for the packed rows i of a KV head, and a key split              a workgroup: itemOf, splitKeys
//      4         load q_i                                                       loadQueries
//      5         o_i = 0, l_i = 0, m_i = -infinity                              clearState
//      6         for each tile j of the split's keys                            attendFull, attendPartial
//      7           load k_j, v_j                                                fetchKeys, fetchValues
//      8           s = q_i k_j^T                                                computeProducts, finishScores
//      9           m_i = max(m_i, rowmax s), p = exp(s - m_i),
//                  l_i = exp(m_old - m_i) l_i + rowsum p                        updateSoftmax
//     10           o_i = exp(m_old - m_i) o_i + p v_j                           scaleOutput, accumulateOutput
//     12..15     o_i = o_i / l_i, lse_i = m_i + log l_i, store both             writeResults
//
// The kernel is bound by reading k and v once: a matrix of packed rows (common/item.glsl) takes as long as one row. k
// and v go from device memory straight into the registers that make up their matrices, without shared memory
// (decode_matrix/tile.glsl; decode_matrix/lane_chunks.glsl for block types). Each subgroup owns ROW_MATRICES matrices
// of rows. KEY_SUBGROUPS subgroups own the same rows and take MATRIX_ROWS keys at a time, in turn. No subgroup waits
// for another until the end.
//
// Where the kernel deviates:
//      6   Partial tiles come last, in a loop of their own. All subgroups walk over the same tiles, because the
//          compiler must see that no branch divides a subgroup.
//      7   The k of the next tile is in flight while line 10 uses this tile. Its v is in flight while line 8 makes
//          the next scores.
//      8   s and o are transposed, k q^T and v^T p: the rows of q are the columns of every matrix. Without a softcap,
//          ALiBi or bias the scale is deferred to the exponent.
//      9   Exponentials are powers of two. m moves by whole numbers, so that factors are powers of two.
//     10   Only p moves between invocations, through shared memory of its subgroup (decode_matrix/transpose.glsl).
//          Where a matrix has two columns of each key, the zeros of p do not keep an infinite value out of the
//          other column. If a sum is infinite or NaN in the end, the workgroup starts again and treats all tiles as
//          partial ones, where such values become zeros (matrix/special_values.glsl). It does the same if a key has
//          no page, because full tiles have no masks.
//     12   writeResults first joins the states of the subgroups, by the formula of a merge (merge/merge_rows.glsl).
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

#define VKF_READS_LANE_CHUNKS
#define VKF_PAGES
#define VKF_VOTES
#define VKF_BIAS_IN_EXTRA_SLOT

#include "common/compilers.glsl"
#define VKF_LANES_ID VKF_ID_SUBGROUP_LANES
#include "common/params.glsl"
#include "common/address.glsl"
#include "common/element.glsl"
#include "decode_matrix/tile.glsl"
#include "common/item.glsl"
#include "masks/mask.glsl"
#include "masks/per_key_masks.glsl"
#include "scores/units.glsl"
#include "scores/final_score.glsl"
#include "scores/score_terms.glsl"
#include "softmax/store_lse.glsl"
#include "scores/dropout.glsl"
#include "masks/key_split.glsl"
#include "cache/row_loads.glsl"
#include "cache/paging.glsl"
#include "matrix/special_values.glsl"

// All mutable variables of the kernel, and the rows and keys of it that belong to a lane.
// decode_matrix/lane_chunks.glsl has the variables of block types. decode_matrix/transpose.glsl and
// decode_matrix/join.glsl have their shared memory.

// The position of the invocation, and what it works on. main sets these variables once.
Item item;
uint thread, subgroup, lane;
uvec2 lane_position;
uint first_row; // the first packed row of the subgroup
uvec2 k_head, v_head;
uvec2 keys; // keys [x, y) of this split

// Words in flight from memory.
uint pages_k[LEFT_FRAGMENT_ROWS]; // entries of the block table for the keys to be fetched next
uint pages_v[VALUE_KEYS];
uint largest_entry = 0u; // of all these entries
// Entries of the list of chosen keys for the present tile, in which all tiles are partial.
uint entries_k[HAS_CHOSEN_KEYS ? LEFT_FRAGMENT_ROWS : 1];
uint entries_v[HAS_CHOSEN_KEYS ? VALUE_KEYS : 1];
uvec4 fetched_k[LEFT_FRAGMENT_ROWS * K_LANE_WORDS];
uvec4 fetched_v[VALUE_KEYS * V_LANE_WORDS];
// The state of the algorithm.
RightMatrix q_matrix[ROW_MATRICES * DIM_MATRICES];
ResultMatrix s_matrix[ROW_MATRICES];
RightMatrix p_matrix[OUTPUT_MATRICES * P_MATRICES];
ResultMatrix o_matrix[OUTPUT_MATRICES * VALUE_MATRICES];
float m_row[LANE_ROWS];
float l_row[LANE_ROWS]; // running sum over this lane's keys
float row_factor[LANE_ROWS];
float slope_row[LANE_ROWS];
RowDropout dropout_row[HAS_DROPOUT ? LANE_ROWS : 1];
vec4 tile_maximum[LANE_ROW_VEC4S]; // over the present tile, four rows each

// Where column pairs are split: 0 or 1, the column of its pair that this lane holds.
uint splitColumn() {
    return lane_position.y % 2;
}

// Whether no lane before this one has the same rows for the same keys.
bool ownsRows() {
    return !SPLIT_COLUMN_PAIRS || splitColumn() == 0;
}

// The subgroup's row that is lane row `lane_row` of this invocation.
uint subgroupRow(const uint lane_row) {
    return lane_row * LANE_ROW_STRIDE + (SPLIT_COLUMN_PAIRS ? lane_position.y / 2 : lane & COLUMN_LANES);
}

// The key of the subgroup's tile whose k and scores are in a fragment row of this lane.
uint fragmentKey(const uint fragment_row) {
    return lane_position.x + fragmentRow(fragment_row);
}

// How far the key of this lane's v number `number` is after that of its first v.
uint valueKeyOffset(const uint number) {
    return number / P_LANE_KEYS * P_MATRIX_KEYS + elementPosition(number % P_LANE_KEYS * LANE_COLUMNS).y / KEY_COLUMNS;
}

// The key of the subgroup's tile whose v is number `number` of this lane's.
uint valueKey(const uint number) {
    return lane_position.y / KEY_COLUMNS + valueKeyOffset(number);
}

// Lines 10 and 12: multiplies each row of o by its row_factor.
void scaleOutput() {
    UNROLL for (uint matrix = 0; matrix < OUTPUT_MATRICES * VALUE_MATRICES; matrix++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            const uint lane_row = laneRowOfOutput(matrix / VALUE_MATRICES, e);
            if (lane_row < LANE_ROWS) {
                o_matrix[matrix][e] *= row_factor[lane_row];
            }
        }
    }
}

#include "decode_matrix/lane_chunks.glsl"
#include "decode_matrix/transpose.glsl"
#include "decode_matrix/join.glsl"
#include "decode_matrix/load.glsl"

// Line 8: s = k q^T, without the scale.
void computeProducts() {
    UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
        s_matrix[r] = ResultMatrix(0.0);
    }
    UNROLL for (uint word = 0; word < K_LANE_WORDS; word++) {
        uvec4 k_words[LEFT_FRAGMENT_ROWS];
        UNROLL for (uint fragment_row = 0; fragment_row < LEFT_FRAGMENT_ROWS; fragment_row++) {
            k_words[fragment_row] =
                K_BLOCKS ? keyWord(fragment_row, word) : fetched_k[fragment_row * K_LANE_WORDS + word];
        }
        UNROLL for (uint i = 0; i < WORD_MATRICES; i++) {
            LeftMatrix k_matrix;
            UNROLL for (uint e = 0; e < LEFT_ELEMENTS; e++) {
                k_matrix[e] =
                    halfOf(k_words[e / FRAGMENT_ROW_ELEMENTS], i * FRAGMENT_ROW_ELEMENTS + e % FRAGMENT_ROW_ELEMENTS);
            }
            UNROLL for (uint r = 0; r < ROW_MATRICES; r++) {
                s_matrix[r] =
                    coopMatMulAdd(k_matrix, q_matrix[r * DIM_MATRICES + word * WORD_MATRICES + i], s_matrix[r]);
            }
        }
    }
}

#include "decode_matrix/softmax.glsl"

// Line 10: o += v^T p. `partial`: not all rows see the same keys.
void accumulateOutput(const bool partial) {
    transposeProbabilities();
    UNROLL for (uint i = 0; i < VALUE_MATRICES * P_MATRICES; i++) {
        const uint matrix = i / P_MATRICES;
        const uint number = i % P_MATRICES;
        uint column_pairs[P_LANE_KEYS * MATRIX_COLUMN_PAIRS];
        UNROLL for (uint p = 0; p < P_LANE_KEYS * MATRIX_COLUMN_PAIRS; p++) {
            const uint key = number * P_LANE_KEYS + p % P_LANE_KEYS;
            const uint column_pair = matrix * LEFT_FRAGMENT_ROWS * KEY_COLUMNS / 2 + p / P_LANE_KEYS;
            column_pairs[p] = 0u;
            if (V_BLOCKS) {
                column_pairs[p] = valueBlockHalves(key, column_pair, partial);
            } else if (column_pair < V_LANE_COLUMN_PAIRS) {
                column_pairs[p] = fetched_v[key * V_LANE_WORDS + column_pair / 4][column_pair % 4];
            }
        }
        LeftMatrix v_matrix;
        UNROLL for (uint e = 0; e < LEFT_ELEMENTS; e++) {
            const uint key = e % FRAGMENT_ROW_ELEMENTS / LANE_COLUMNS;
            const uint column =
                (matrix * LEFT_FRAGMENT_ROWS + e / FRAGMENT_ROW_ELEMENTS) * KEY_COLUMNS + e % LANE_COLUMNS;
            const uint column_pair = column / 2 - matrix * LEFT_FRAGMENT_ROWS * KEY_COLUMNS / 2;
            v_matrix[e] = halfOfUint(column_pairs[column_pair * P_LANE_KEYS + key],
                                     SPLIT_COLUMN_PAIRS ? splitColumn() : column % 2);
        }
        UNROLL for (uint output_matrix = 0; output_matrix < OUTPUT_MATRICES; output_matrix++) {
            const uint of_row = output_matrix * VALUE_MATRICES + matrix;
            o_matrix[of_row] = coopMatMulAdd(v_matrix, p_matrix[output_matrix * P_MATRICES + number], o_matrix[of_row]);
        }
    }
}

// The first key of this subgroup in a tile of keys.
uint subgroupKey(const uint tile) {
    return keys.x + tile * TILE_KEYS + subgroup % KEY_SUBGROUPS * MATRIX_ROWS;
}

// Lines 6 to 11 for the full tiles [first, end).
void attendFull(const uint first, const uint end) {
    fetchPages(subgroupKey(first), false);
    beginFetching(subgroupKey(first));
    fetchKeys(subgroupKey(first), false);
    fetchValues(subgroupKey(first), false);
    fetchBias(subgroupKey(first));
    fetchPages(subgroupKey(first + 1), true);
    loadQueries();                                          // 4, while the first keys are in flight
    KEEP_LOOP for (uint tile = first; tile < end; tile++) { // 6
        computeProducts();                                  // 8
        IF_KEEPING_LOADS_HERE (tile + 1 < end) {
            fetchKeys(subgroupKey(tile + 1), false); // 7: starts to load k_(j+1)
        } else {
            forgetKeys();
        }
        if (SCALED_EARLY) {
            finishScores(subgroupKey(tile)); // 8
        }
        IF_KEEPING_LOADS_HERE (HAS_BIAS && tile + 1 < end) {
            fetchBias(subgroupKey(tile + 1));
        }
        updateSoftmax(subgroupKey(tile)); // 9, and o_i of 10 times exp(m_old - m_i)
        accumulateOutput(false);          // 10
        IF_KEEPING_LOADS_HERE (tile + 1 < end) {
            fetchValues(subgroupKey(tile + 1), false); // 7: starts to load v_(j+1)
            fetchPages(subgroupKey(tile + 2), true);
        } else {
            forgetValues();
        }
    }
}

// Lines 7 to 10 for a partial tile: a mask or the end of the keys drops some of its pairs.
void attendPartial(const uint key_begin) {
    fetchEntries(key_begin);
    fetchPages(key_begin, true);
    fetchKeys(key_begin, true); // 7
    fetchValues(key_begin, true);
    fetchBias(key_begin);
    computeProducts(); // 8
    if (SCALED_EARLY) {
        finishScores(key_begin);
    }
    dropInvisible(key_begin);
    if (!V_BLOCKS) {
        finiteValues(key_begin);
    }
    updateSoftmax(key_begin); // 9
    accumulateOutput(true);   // 10
}

// The full tiles [x, y) among the split's `tiles`; none if y = x. Under MASKS_ANY_KEY no tile counts as full.
uvec2 fullTiles(const uint tiles) {
    if (MASKS_ANY_KEY) {
        return uvec2(0);
    }
    ivec2 common_keys = clamp(commonKeys(item), ivec2(keys.x), ivec2(keys.y)) - int(keys.x);
    uint first = min((uint(common_keys.x) + TILE_KEYS - 1) / TILE_KEYS, tiles);
    return uvec2(first, max(uint(common_keys.y) / TILE_KEYS, first));
}

void main() {
    thread = threadIndex();
    subgroup = thread / LANES;
    lane = thread % LANES;
    lane_position = lanePosition(lane);
    item = itemOf(params.first_item + gl_WorkGroupID.x); // 3
    if (isIdle(item)) {
        return;
    }
    first_row = item.row_begin + subgroup / KEY_SUBGROUPS * SUBGROUP_ROWS;
    k_head = keyHeadAddress(params.k, VKF_K, item);
    v_head = keyHeadAddress(params.v, VKF_V, item);
    beginList(item);
    keys = splitKeys(item, TILE_KEYS);
    if (thread == 0) {
        special_values = 0u;
        infinite_sums = 0u;
        shared_zero = 0u;
    }
    barrier();
    hidden_zero = shared_zero;
    loadScales(item.kv_head);
    key_scale *= K_UNIT;
    value_scale *= V_UNIT;
    clearState(); // 5
    beginBias();
    uint tiles = 0;
    uvec2 full = uvec2(0);
    const bool has_keys = UNIFORM_BY_VOTE(keys.x < keys.y); // a split without keys reads nothing
    if (has_keys) {
        tiles = (keys.y - keys.x + TILE_KEYS - 1) / TILE_KEYS;
        full = fullTiles(tiles);
        if (full.x < full.y) {
            attendFull(full.x, full.y); // 4, 6 to 11
        } else {
            loadQueries(); // 4
        }
    }
    KEEP_LOOP for (uint attempt = 0; attempt < 2; attempt++) {
        if (has_keys) {
            KEEP_LOOP for (uint i = 0; i < tiles - (full.y - full.x); i++) { // 6
                attendPartial(subgroupKey(i < full.x ? i : i + (full.y - full.x)));
            }
        }
        stageStates();
        barrier();
        if ((KEY_COLUMNS == 1 && !PAGED) || UNIFORM_BY_VOTE(attempt != 0 || infinite_sums == 0u)) {
            break;
        }
        barrier(); // all have read infinite_sums, which the second attempt may set again
        clearState();
        full = uvec2(0);
    }
    writeResults(); // 12 to 15
}
