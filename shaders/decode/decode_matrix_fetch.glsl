// SPDX-License-Identifier: MIT
//
// Line 7 of the algorithm (attention_decode_matrix.comp): loads words of k and v from device memory into registers.
//
// Needs: decode/decode_matrix_state.glsl, decode/decode_blocks.glsl, decode/decode_load.glsl, cache/paging.glsl.
// Provides: fetchPages, fetchKeys, fetchValues, forgetKeys, forgetValues.
#ifndef VKF_DECODE_MATRIX_FETCH_GLSL
#define VKF_DECODE_MATRIX_FETCH_GLSL

// In a partial tile, a key past the last one is the last key again, so that every load reads an existing key.
uint existingKey(const uint key, const bool partial) {
    return partial ? min(key, keys.y - 1) : key;
}

// Loads page numbers, long before the keys: the addresses of the keys depend on them.
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

#endif
