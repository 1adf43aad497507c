// SPDX-License-Identifier: MIT
//
// Line 7 of the algorithm (attention_decode_matrix.comp): loads words of k and v from device memory into registers.
//
// Needs: decode_matrix/globals.glsl, decode_matrix/lane_chunks.glsl, cache/row_loads.glsl, cache/paging.glsl.
// Provides: fetchPages, beginFetching, fetchKeys, fetchValues, forgetKeys, forgetValues.
#ifndef VKF_DECODE_MATRIX_FETCH_GLSL
#define VKF_DECODE_MATRIX_FETCH_GLSL

layout(constant_id = VKF_ID_KEY_OFFSETS_32) const bool KEY_OFFSETS_32 = false;

// In a partial tile, a key past the last one is the last key again, so that every load reads an existing key.
uint existingKey(const uint key, const bool partial) {
    return partial ? min(key, keys.y - 1) : key;
}

// Whether a row is found by counting words from the first row of the head. Otherwise each row has an address of its
// own.
const uint K_UNEVEN_WORDS = K_BLOCKS ? 0 : VKF_ROW_WORDS(HEAD_DIM, TYPE_K) % DEPTH_LANES;
const uint V_UNEVEN_WORDS = V_BLOCKS ? 0 : VKF_ROW_WORDS(VALUE_DIM, TYPE_V) % ROW_LANES;
const bool K_OFFSETS_32 = KEY_OFFSETS_32 && K_UNEVEN_WORDS == 0;
const bool V_OFFSETS_32 = KEY_OFFSETS_32 && V_UNEVEN_WORDS == 0;
const uint K_LOAD_BYTES = K_BLOCKS ? K_UNIT * 4 : 16;
const uint V_LOAD_BYTES = V_BLOCKS ? V_UNIT * 4 : 16;

uint offset_k, offset_v; // rows of this lane's first keys in the next full tile, in units of a load

// Loads page numbers, long before the keys: the addresses of the keys depend on them.
void fetchPages(const uint key_begin, const bool partial) {
    UNROLL for (uint fragment_row = 0; fragment_row < LEFT_FRAGMENT_ROWS; fragment_row++) {
        pages_k[fragment_row] = pageOf(item.batch, existingKey(key_begin + fragmentKey(fragment_row), partial));
    }
    UNROLL for (uint i = 0; i < VALUE_KEYS; i++) {
        pages_v[i] = pageOf(item.batch, existingKey(key_begin + valueKey(i), partial));
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
        uint key = existingKey(key_begin + fragmentKey(fragment_row), partial);
        uvec2 address = K_OFFSETS_32 ? k_head : keyAddress(k_head, VKF_K, pages_k[fragment_row], key);
        uint row = partial ? keyRow(key) : offset_k + keyRow(fragmentRow(fragment_row));
        if (K_BLOCKS) {
            fetchKeyBlocks(fragment_row, address, row);
            continue;
        }
        UNROLL for (uint word = 0; word < K_LANE_WORDS; word++) {
            const uint number = word * DEPTH_LANES + (lane & COLUMN_LANES);
            fetched_k[fragment_row * K_LANE_WORDS + word] =
                K_OFFSETS_32 ? Words(address).word[row + number] : rowWord(address, number, HEAD_DIM, TYPE_K, DEPTH_LANES);
        }
    }
    COUNT_ON(offset_k, keyRow(TILE_KEYS));
}

void fetchValues(const uint key_begin, const bool partial) {
    UNROLL for (uint i = 0; i < VALUE_KEYS; i++) {
        uint key = existingKey(key_begin + valueKey(i), partial);
        uvec2 address = V_OFFSETS_32 ? v_head : keyAddress(v_head, VKF_V, pages_v[i], key);
        uint row = partial ? valueRow(key) : offset_v + valueRow(valueKeyStep(i));
        if (V_BLOCKS) {
            fetchValueBlocks(i, address, row);
            continue;
        }
        UNROLL for (uint word = 0; word < V_LANE_WORDS; word++) {
            const uint number = word * ROW_LANES + lane / DEPTH_LANES;
            fetched_v[i * V_LANE_WORDS + word] =
                V_OFFSETS_32 ? Words(address).word[row + number] : rowWord(address, number, VALUE_DIM, TYPE_V, ROW_LANES);
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
    FORGET(fetched_k, 0, LEFT_FRAGMENT_ROWS * K_LANE_WORDS, uvec4(0))
}

void forgetValues() {
    if (V_BLOCKS) {
        forgetValueBlocks();
        return;
    }
    FORGET(fetched_v, 0, VALUE_KEYS * V_LANE_WORDS, uvec4(0))
}

#endif
