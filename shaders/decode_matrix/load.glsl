// SPDX-License-Identifier: MIT
//
// Lines 4, 5 and 7 of the algorithm (attention_decode_matrix.comp): loads q into its matrices, clears o, m and l, and
// loads words of k, v and the bias from device memory into registers.
#ifndef VKF_DECODE_MATRIX_LOAD_GLSL
#define VKF_DECODE_MATRIX_LOAD_GLSL

#include "matrix/query_words.glsl"

// Lines 4 and 5 of the algorithm (attention_decode_matrix.comp): loads q into its matrices, and clears o, m and l.

// A word of q whose elements have the order of k's elements, for a k of a block type.
uvec4 queryOfBlocks(const uvec2 row, const uint word) {
    uvec4 loaded = uvec4(0);
    UNROLL for (uint i = 0; i < 8; i++) {
        if (TYPE_Q == VKF_STORED_F32) {
            float x = loadElementOrZero(row, keyColumn(word, i), HEAD_DIM, TYPE_Q);
            loaded[i / 2] |= roundedPair(vec2(x, 0.0)) << (i % 2 * 16);
        } else {
            loaded[i / 2] |= halfAt(row, keyColumn(word, i), HEAD_DIM) << (i % 2 * 16);
        }
    }
    return loaded;
}

// A word of q in the order of its columns.
uvec4 queryWord(const uvec2 row, const uint word) {
    if (TYPE_Q == VKF_STORED_F32) {
        return roundedRowWord(row, word * 8, HEAD_DIM, WHOLE_WORDS);
    }
    return rowWord(row, word, HEAD_DIM, TYPE_Q, DEPTH_LANES);
}

// Line 4. Rows that do not exist are zeros.
void loadQueries() {
    UNROLL for (uint i = 0; i < ROW_MATRICES * Q_FRAGMENT_ROWS; i++) {
        const uint first = i / Q_FRAGMENT_ROWS * DIM_MATRICES;
        const uint fragment_row = i % Q_FRAGMENT_ROWS;
        uint packed_row = first_row + rowOfColumn(i / Q_FRAGMENT_ROWS, fragmentKey(fragment_row));
        uint existing = min(packed_row, packedRows(item) - 1);
        uvec2 head = headAddress(params.q, VKF_Q, item.batch, queryHead(item, existing), item.first_row);
        uvec2 row = rowAddress(head, VKF_Q, queryRow(existing));
        UNROLL for (uint word = 0; word < K_LANE_WORDS; word++) {
            const uint number = word * DEPTH_LANES + (lane & COLUMN_LANES);
            uvec4 loaded = K_BLOCKS ? queryOfBlocks(row, word) : queryWord(row, number);
            loaded = packed_row == existing ? signedWord(loaded) : uvec4(0);
            UNROLL for (uint e = 0; e < 8; e++) {
                q_matrix[first + word * WORD_MATRICES + e / FRAGMENT_ROW_ELEMENTS]
                        [fragment_row * FRAGMENT_ROW_ELEMENTS + e % FRAGMENT_ROW_ELEMENTS] = halfOf(loaded, e);
            }
        }
    }
}

void clearState() {
    UNROLL for (uint i = 0; i < OUTPUT_MATRICES * VALUE_MATRICES; i++) {
        o_matrix[i] = ResultMatrix(0.0);
    }
    UNROLL for (uint lane_row = 0; lane_row < LANE_ROWS; lane_row++) {
        m_row[lane_row] = BEFORE_ANY_KEY;
        l_row[lane_row] = 0.0;
        slope_row[lane_row] = slopeOf(queryHead(item, first_row + subgroupRow(lane_row)));
        if (HAS_DROPOUT) {
            uint packed_row = first_row + subgroupRow(lane_row);
            dropout_row[HAS_DROPOUT ? lane_row : 0] =
                rowDropout(item, queryHead(item, packed_row), queryRow(packed_row));
        }
    }
}

layout(constant_id = VKF_ID_KEY_OFFSETS_32) const bool KEY_OFFSETS_32 = false;

// In a partial tile, a key past the last one is the last key again, so that every load reads an existing key.
uint existingKey(const uint key, const bool partial) {
    return partial ? min(key, keys.y - 1) : key;
}

// The key of this lane in a fragment row, for masks and terms of scores.
uint scoreKey(const uint key_begin, const uint fragment_row) {
    return HAS_CHOSEN_KEYS ? keyOfEntry(entries_k[HAS_CHOSEN_KEYS ? fragment_row : 0])
                           : key_begin + fragmentKey(fragment_row);
}

// The keys of which this lane loads k and v.
uint loadedKey(const uint key_begin, const uint fragment_row, const bool partial) {
    return HAS_CHOSEN_KEYS ? scoreKey(key_begin, fragment_row)
                           : existingKey(key_begin + fragmentKey(fragment_row), partial);
}

uint loadedValueKey(const uint key_begin, const uint number, const bool partial) {
    return HAS_CHOSEN_KEYS ? keyOfEntry(entries_v[HAS_CHOSEN_KEYS ? number : 0])
                           : existingKey(key_begin + valueKey(number), partial);
}

// Loads the entries of the list for a tile.
void fetchEntries(const uint key_begin) {
    UNROLL for (uint i = 0; i < (HAS_CHOSEN_KEYS ? LEFT_FRAGMENT_ROWS : 0); i++) {
        entries_k[i] = listEntry(key_begin + fragmentKey(i), keys.y);
    }
    UNROLL for (uint i = 0; i < (HAS_CHOSEN_KEYS ? VALUE_KEYS : 0); i++) {
        entries_v[i] = listEntry(key_begin + valueKey(i), keys.y);
    }
}

// Whether a row is found by counting words from the first row of the head. Otherwise each row has an address of its
// own.
const uint K_UNEVEN_WORDS = K_BLOCKS ? 0 : VKF_ROW_WORDS(HEAD_DIM, TYPE_K) % DEPTH_LANES;
const uint V_UNEVEN_WORDS = V_BLOCKS ? 0 : VKF_ROW_WORDS(VALUE_DIM, TYPE_V) % ROW_LANES;
const bool K_OFFSETS_32 = KEY_OFFSETS_32 && K_UNEVEN_WORDS == 0;
const bool V_OFFSETS_32 = KEY_OFFSETS_32 && V_UNEVEN_WORDS == 0;
const uint K_LOAD_BYTES = K_BLOCKS ? K_LOAD_WORDS * 4 : 16;
const uint V_LOAD_BYTES = V_BLOCKS ? V_LOAD_WORDS * 4 : 16;

uint offset_k, offset_v; // rows of this lane's first keys in the next full tile, in units of a load

// Loads page numbers, long before the keys: the addresses of the keys depend on them.
void fetchPages(const uint key_begin, const bool partial) {
    UNROLL for (uint fragment_row = 0; fragment_row < LEFT_FRAGMENT_ROWS; fragment_row++) {
        pages_k[fragment_row] = pageOf(item.batch, loadedKey(key_begin, fragment_row, partial));
        largest_entry = PAGED ? max(largest_entry, pages_k[fragment_row]) : 0u;
    }
    UNROLL for (uint i = 0; i < VALUE_KEYS; i++) {
        pages_v[i] = pageOf(item.batch, loadedValueKey(key_begin, i, partial));
    }
}

// Where the row of a key of the subgroup's tile begins: an address, and units of a load after it.
uint keyRow(const uint key) {
    return K_OFFSETS_32 ? key * (params.row_stride[VKF_K] / K_LOAD_BYTES) : 0;
}

uint valueRow(const uint key) {
    return V_OFFSETS_32 ? key * (params.row_stride[VKF_V] / V_LOAD_BYTES) : 0;
}

void fetchKeys(const uint key_begin, const bool partial) {
    UNROLL for (uint fragment_row = 0; fragment_row < LEFT_FRAGMENT_ROWS; fragment_row++) {
        uint key = loadedKey(key_begin, fragment_row, partial);
        uvec2 address = K_OFFSETS_32 ? k_head : keyAddress(k_head, VKF_K, pages_k[fragment_row], key);
        uint row = partial ? keyRow(key) : offset_k + keyRow(fragmentRow(fragment_row));
        if (K_BLOCKS) {
            fetchKeyBlocks(fragment_row, address, row);
            continue;
        }
        UNROLL for (uint word = 0; word < K_LANE_WORDS; word++) {
            const uint number = word * DEPTH_LANES + (lane & COLUMN_LANES);
            fetched_k[fragment_row * K_LANE_WORDS + word] =
                K_OFFSETS_32 ? Words(address).word[row + number]
                             : rowWord(address, number, HEAD_DIM, TYPE_K, DEPTH_LANES);
        }
    }
    COUNT_ON(offset_k, keyRow(TILE_KEYS));
}

void fetchValues(const uint key_begin, const bool partial) {
    UNROLL for (uint i = 0; i < VALUE_KEYS; i++) {
        uint key = loadedValueKey(key_begin, i, partial);
        uvec2 address = V_OFFSETS_32 ? v_head : keyAddress(v_head, VKF_V, pages_v[i], key);
        uint row = partial ? valueRow(key) : offset_v + valueRow(valueKeyOffset(i));
        if (V_BLOCKS) {
            fetchValueBlocks(i, address, row);
            continue;
        }
        UNROLL for (uint word = 0; word < V_LANE_WORDS; word++) {
            const uint number = word * ROW_LANES + lane / DEPTH_LANES;
            fetched_v[i * V_LANE_WORDS + word] = V_OFFSETS_32 ? Words(address).word[row + number]
                                                              : rowWord(address, number, VALUE_DIM, TYPE_V, ROW_LANES);
        }
    }
    COUNT_ON(offset_v, valueRow(TILE_KEYS));
}

// Sets where fetchKeys and fetchValues of full tiles begin.
void beginFetching(const uint key_begin) {
    offset_k = keyRow(key_begin + fragmentKey(0));
    offset_v = valueRow(key_begin + valueKey(0));
}

void forgetKeys() {
    if (K_BLOCKS) {
        forgetKeyBlocks();
        return;
    }
    FORGET(fetched_k, 0, LEFT_FRAGMENT_ROWS * K_LANE_WORDS, uvec4(0));
}

void forgetValues() {
    if (V_BLOCKS) {
        forgetValueBlocks();
        return;
    }
    FORGET(fetched_v, 0, VALUE_KEYS * V_LANE_WORDS, uvec4(0));
}

// The bias of the subgroup's keys, for line 8 of the algorithm. Its words are in flight to registers while the tile
// before is used, like those of k and v. So a call takes no more time than without a bias.

const uint BIAS_ROWS = HAS_BIAS ? LANE_ROWS : 0;

BroadcastRow bias_row[HAS_BIAS ? LANE_ROWS : 1];
uint fetched_bias[HAS_BIAS ? LANE_ROWS * LEFT_FRAGMENT_ROWS : 1]; // words of 4 bytes, with one or two elements

void beginBias() {
    UNROLL for (uint lane_row = 0; lane_row < BIAS_ROWS; lane_row++) {
        uint packed_row = first_row + subgroupRow(lane_row);
        bias_row[lane_row] = rowTerms(item, queryHead(item, packed_row), 0.0, queryRow(packed_row), 0).bias;
    }
}

// The element of a key, counted from the word in which the row begins. A key past the last one has the bias of the last
// key.
uint biasElement(const uint lane_row, const uint key) {
    return bias_row[lane_row].first + min(key, item.keys - 1);
}

void fetchBias(const uint key_begin) {
    UNROLL for (uint i = 0; i < BIAS_ROWS * LEFT_FRAGMENT_ROWS; i++) {
        const uint lane_row = i / LEFT_FRAGMENT_ROWS;
        uint element = biasElement(lane_row, scoreKey(key_begin, i % LEFT_FRAGMENT_ROWS));
        uint offset = (element >> (5 - LOG_BIAS_BITS)) << 2;
        fetched_bias[i] = Word(add64(bias_row[lane_row].address, uvec2(offset, 0))).value;
    }
}

// The bias of the lane's key number `fragment_row`, in a tile that begins at key_begin and was fetched last.
float fetchedBias(const uint lane_row, const uint fragment_row, const uint key_begin) {
    uint element = biasElement(lane_row, scoreKey(key_begin, fragment_row));
    uint bits = fetched_bias[lane_row * LEFT_FRAGMENT_ROWS + fragment_row] >> ((element << LOG_BIAS_BITS) & 31u);
    if (BIAS == VKF_STORED_F32 + 1) {
        return uintBitsToFloat(bits);
    }
    return BIAS == VKF_STORED_F16 + 1 ? unpackHalf2x16(bits).x : uintBitsToFloat(bits << 16);
}

// A score with the bias, as in withTerms (scores/score_terms.glsl).
float withFetchedBias(const float s, const float bias, const float factor) {
    precise float product = bias * (bias == MINUS_INFINITY ? 1.0 : factor);
    return s + (HAS_BIAS_FACTORS ? product : bias);
}

#endif
