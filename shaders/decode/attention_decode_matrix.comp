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


Item item;
uint thread, subgroup, lane;
uvec2 lane_place;
uint first_row; // packed, of the subgroup
uvec2 k_head, v_head;
uvec2 keys; // of this split

uint pages_k[LEFT_SLOTS]; // of the keys to be fetched next
uint pages_v[SLOT_ELEMENTS];
uvec4 fetched_k[LEFT_SLOTS * K_LANE_WORDS];
uvec4 fetched_v[SLOT_ELEMENTS * V_LANE_WORDS];
RightMatrix q_tile[ROW_TILES * DIM_TILES];
ResultMatrix s_tile[ROW_TILES];
RightMatrix p_tile[ROW_TILES];
ResultMatrix o_tile[ROW_TILES * VALUE_TILES];
float m_row[STATES];
float l_row[STATES]; // of this lane's keys
float row_factor[STATES];
float slope_row[STATES];
RowDropout dropout_row[HAS_DROPOUT ? STATES : 1];
vec4 tile_maximum[STATE_FOURS]; // of the present scores, four rows each

// Row of the subgroup that a state is of.
uint stateRow(const uint state) {
    return state * DEPTH_LANES + (lane & COLUMN_LANES);
}

// Key of the subgroup's tile that this lane has the k of, and the scores.
uint slotKey(const uint slot) {
    return lane_place.x + slotRow(slot);
}

// Key that this lane has the v of.
uint valueKey(const uint element) {
    return lane_place.y + elementPlace(element).y;
}

// o of each row times its row_factor.
void scaleOutput() {
    UNROLL for (uint tile = 0; tile < ROW_TILES * VALUE_TILES; tile++) {
        UNROLL for (uint e = 0; e < ELEMENTS; e++) {
            const uint state = stateOf(tile / VALUE_TILES, e);
            if (state < STATES) {
                o_tile[tile][e] *= row_factor[state];
            }
        }
    }
}

#include "decode/decode_blocks.glsl"
#include "decode/decode_matrix_turn.glsl"
#include "decode/decode_matrix_join.glsl"

#include "matrix/signed_word.glsl"

// A word of q, its elements in the order of a k of a block type.
uvec4 queryOfBlocks(const uvec2 row, const uint word) {
    uvec4 loaded = uvec4(0);
    UNROLL for (uint i = 0; i < 8; i++) {
        loaded[i / 2] |= halfAt(row, keyColumn(word, i), HEAD_DIM) << i % 2 * 16;
    }
    return loaded;
}

// Rows that do not exist are zeros.
void loadQueries() {
    UNROLL for (uint i = 0; i < ROW_TILES * QUERY_SLOTS; i++) {
        const uint first = i / QUERY_SLOTS * DIM_TILES;
        const uint slot = i % QUERY_SLOTS;
        uint packed_row = first_row + rowOfColumn(i / QUERY_SLOTS, slotKey(slot));
        uint existing = min(packed_row, packedRows(item) - 1);
        uvec2 head = headAddress(params.q, VKF_Q, item.batch, queryHead(item, existing), item.first_row);
        uvec2 row = rowAddress(head, VKF_Q, queryRow(existing));
        UNROLL for (uint word = 0; word < K_LANE_WORDS; word++) {
            const uint number = word * DEPTH_LANES + (lane & COLUMN_LANES);
            uvec4 loaded =
                K_BLOCKS ? queryOfBlocks(row, word) : rowWord(row, number, HEAD_DIM, TYPE_Q, DEPTH_LANES);
            loaded = packed_row == existing ? signedWord(loaded) : uvec4(0);
            UNROLL for (uint e = 0; e < 8; e++) {
                q_tile[first + word * WORD_DEPTHS + e / SLOT_ELEMENTS][slot * SLOT_ELEMENTS + e % SLOT_ELEMENTS] =
                    halfOf(loaded, e);
            }
        }
    }
}

void clearState() {
    UNROLL for (uint i = 0; i < ROW_TILES * VALUE_TILES; i++) {
        o_tile[i] = ResultMatrix(0.0);
    }
    UNROLL for (uint state = 0; state < STATES; state++) {
        m_row[state] = BEFORE_ANY_KEY;
        l_row[state] = 0.0;
        slope_row[state] = slopeOf(queryHead(item, first_row + stateRow(state)));
        if (HAS_DROPOUT) {
            uint packed_row = first_row + stateRow(state);
            dropout_row[HAS_DROPOUT ? state : 0] =
                rowDropout(item, queryHead(item, packed_row), queryRow(packed_row));
        }
    }
}

// Of a cut tile: past the last key it is the last one again, so that nothing is read that must not be.
uint existingKey(const uint key, const bool partial) {
    return partial ? min(key, keys.y - 1) : key;
}

// Long before the keys, whose addresses wait for them.
void fetchPages(const uint key_begin, const bool partial) {
    UNROLL for (uint slot = 0; slot < LEFT_SLOTS; slot++) {
        pages_k[slot] = pageOf(item.batch, existingKey(key_begin + slotKey(slot), partial));
    }
    UNROLL for (uint i = 0; i < SLOT_ELEMENTS; i++) {
        pages_v[i] = pageOf(item.batch, existingKey(key_begin + valueKey(i), partial));
    }
}

void fetchKeys(const uint key_begin, const bool partial) {
    UNROLL for (uint slot = 0; slot < LEFT_SLOTS; slot++) {
        uvec2 row = keyAddress(k_head, VKF_K, pages_k[slot], existingKey(key_begin + slotKey(slot), partial));
        if (K_BLOCKS) {
            fetchKeyBlocks(slot, row);
            continue;
        }
        UNROLL for (uint word = 0; word < K_LANE_WORDS; word++) {
            fetched_k[slot * K_LANE_WORDS + word] =
                rowWord(row, word * DEPTH_LANES + (lane & COLUMN_LANES), HEAD_DIM, TYPE_K, DEPTH_LANES);
        }
    }
}

void fetchValues(const uint key_begin, const bool partial) {
    UNROLL for (uint i = 0; i < SLOT_ELEMENTS; i++) {
        uvec2 row = keyAddress(v_head, VKF_V, pages_v[i], existingKey(key_begin + valueKey(i), partial));
        if (V_BLOCKS) {
            fetchValueBlocks(i, row);
            continue;
        }
        UNROLL for (uint word = 0; word < V_LANE_WORDS; word++) {
            fetched_v[i * V_LANE_WORDS + word] =
                rowWord(row, word * ROW_LANES + lane / DEPTH_LANES, VALUE_DIM, TYPE_V, ROW_LANES);
        }
    }
}

// Says to the compiler that nothing fetched is needed any more.
void forgetKeys() {
    if (K_BLOCKS) {
        forgetKeyBlocks();
        return;
    }
    FORGET(fetched_k, 0, LEFT_SLOTS * K_LANE_WORDS, uvec4(0))
}

void forgetValues() {
    if (V_BLOCKS) {
        forgetValueBlocks();
        return;
    }
    FORGET(fetched_v, 0, SLOT_ELEMENTS * V_LANE_WORDS, uvec4(0))
}

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

void finishScores(const uint key_begin) {
    RowTerms terms[STATES];
    UNROLL for (uint state = 0; state < STATES; state++) {
        uint packed_row = first_row + stateRow(state);
        terms[state] = rowTerms(item, queryHead(item, packed_row), slope_row[state], queryRow(packed_row), key_begin);
    }
    UNROLL for (uint i = 0; i < ROW_TILES * ELEMENTS; i++) {
        const uint e = i % ELEMENTS;
        const uint state = stateOf(i / ELEMENTS, e);
        if (state < STATES) {
            float s = s_tile[i / ELEMENTS][e] * abs(params.score_scale);
            s = HAS_SOFTCAP ? params.softcap * tanhAccurate(s) : s;
            s_tile[i / ELEMENTS][e] = withTerms(terms[state], slotKey(e / ROW_ELEMENTS), s);
        }
    }
}

// Scores are chosen, not branched to: a matrix of which an element is set in a branch lives in memory.
void dropInvisible(const uint key_begin) {
    ivec2 visible[STATES];
    RowKeep keep[STATES];
    UNROLL for (uint state = 0; state < STATES; state++) {
        uint packed_row = first_row + stateRow(state);
        visible[state] = visibleKeys(item, queryRow(packed_row));
        visible[state].y = min(visible[state].y, int(keys.y));
        keep[state] = rowKeep(item, queryHead(item, packed_row), queryRow(packed_row));
    }
    UNROLL for (uint i = 0; i < ROW_TILES * ELEMENTS; i++) {
        const uint e = i % ELEMENTS;
        const uint state = stateOf(i / ELEMENTS, e);
        if (state < STATES) {
            float s = s_tile[i / ELEMENTS][e];
            uint key = key_begin + slotKey(e / ROW_ELEMENTS);
            bool seen = isVisible(visible[state], key) && keeps(keep[state], key);
            s_tile[i / ELEMENTS][e] = CHOOSE(MINUS_INFINITY, s, seen);
        }
    }
}

// Values of keys that do not exist, or that not every row sees.
void finiteValues(const uint key_begin) {
    UNROLL for (uint i = 0; i < SLOT_ELEMENTS; i++) {
        bool exists = key_begin + valueKey(i) < keys.y;
        UNROLL for (uint word = 0; word < V_LANE_WORDS; word++) {
            uint place = i * V_LANE_WORDS + word;
            fetched_v[place] = mix(uvec4(0), finiteHalves(fetched_v[place]), bvec4(exists));
        }
    }
}

// The rows' maxima of the present scores, in units of log2 and whole numbers. Four rows at once: a loop with
// shuffles in it stays a loop, and the matrices that it indexes would live in memory.
void findTileMaximum() {
    UNROLL for (uint i = 0; i < STATE_FOURS; i++) {
        tile_maximum[i] = vec4(BEFORE_ANY_KEY);
    }
    UNROLL for (uint i = 0; i < ROW_TILES * ELEMENTS; i++) {
        const uint state = stateOf(i / ELEMENTS, i % ELEMENTS);
        if (state < STATES) {
            tile_maximum[state / 4][state % 4] = max(tile_maximum[state / 4][state % 4], s_tile[i / ELEMENTS][i % ELEMENTS]);
        }
    }
    UNROLL for (uint i = 0; i < STATE_FOURS; i++) {
        tile_maximum[i] = ceil(maxOverKeys(tile_maximum[i]) * deferredScale());
    }
}

// p = 2^(s - m), in the place of s, and 0 in rows that never exist; m, l and o follow. l takes p in before it is
// rounded.
void updateSoftmax(const uint key_begin) {
    findTileMaximum();
    UNROLL for (uint state = 0; state < STATES; state++) {
        float m = max(m_row[state], tile_maximum[state / 4][state % 4]);
        row_factor[state] = exp2(m_row[state] - m);
        m_row[state] = m;
        l_row[state] *= row_factor[state];
    }
    UNROLL for (uint i = 0; i < ROW_TILES * ELEMENTS; i++) {
        const uint state = stateOf(i / ELEMENTS, i % ELEMENTS);
        float p = 0.0;
        if (state < STATES) {
            p = exp2(fma(s_tile[i / ELEMENTS][i % ELEMENTS], deferredScale(), -m_row[state]));
            l_row[state] += p;
            if (HAS_DROPOUT && !staysIn(dropout_row[HAS_DROPOUT ? state : 0],
                                        key_begin + slotKey(i % ELEMENTS / ROW_ELEMENTS))) {
                p = 0.0;
            }
        }
        s_tile[i / ELEMENTS][i % ELEMENTS] = p;
    }
    scaleOutput();
}

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
