// SPDX-License-Identifier: MIT
//
// Lines 4, 5 and 7 of the algorithm (attention_decode.comp): stages q, clears the state, and loads words of k and v
// from device memory into registers.
#ifndef VKF_DECODE_LOADS_GLSL
#define VKF_DECODE_LOADS_GLSL

// Lines 4 and 5 of the algorithm (attention_decode.comp): stages q as fp32 in shared memory, and clears the state.

// The index in q_stage of four columns of row r. A lane finds the columns that belong to its words of k there.
uint stagedQuery(const uint r, const uint quad, const uint word) {
    return (r * K_QUADS + quad) * K_LANE_WORDS * LANES + word;
}

void stageQueries() {
    const uint row_words = K_LANE_WORDS * LANES * K_QUADS;
    KEEP_LOOP for (uint index = thread; index < LANE_GROUP_ROWS * row_words; index += WORKGROUP_SIZE) {
        uint r = index / row_words;
        uint column4 = index % row_words;
        uint packed_row = item.row_begin + r;
        vec4 q = vec4(0.0);
        if (packed_row < packedRows(item)) {
            uvec2 head = headAddress(params.q, VKF_Q, item.batch, queryHead(item, packed_row), item.first_row);
            uint column = quadColumn(column4 / K_QUADS, column4 % K_QUADS, TYPE_K);
            q = loadRow4(rowAddress(head, VKF_Q, queryRow(packed_row)), column, HEAD_DIM, TYPE_Q);
        }
        q_stage[stagedQuery(r, column4 % K_QUADS, column4 / K_QUADS)] = q;
    }
}

void clearState() {
    UNROLL for (uint i = 0; i < LANE_GROUP_ROWS * LANE_COLUMNS4; i++) {
        o_tile[i] = vec4(0.0);
    }
    UNROLL for (uint r = 0; r < LANE_GROUP_ROWS; r++) {
        m_row[r] = MINUS_INFINITY;
        l_row[r] = 0.0;
        slope_row[r] = slopeOf(queryHead(item, item.row_begin + r));
        if (HAS_DROPOUT) {
            dropout_row[HAS_DROPOUT ? r : 0] =
                rowDropout(item, queryHead(item, item.row_begin + r), queryRow(item.row_begin + r));
        }
    }
}

// The key number of the invocation's key t in the tile, as splitKeys counts keys.
uint threadKey(const uint key_begin, const uint t) {
    return key_begin + t * GROUPS + group;
}

// Whether key t of the present tile exists.
bool isTileKey(const uint key_begin, const uint t) {
    return threadKey(key_begin, t) < keys.y && (!PAGED || LACKS_BIT(tile_absent, t));
}

// The key itself. Past the last key it is the last key again, so that no load reads a key that does not exist.
uint existingKey(const uint key_begin, const uint t) {
    if (HAS_CHOSEN_KEYS) {
        return keyOfEntry(fetched_entries[t]);
    }
    return keyOfNumber(empty_keys, min(threadKey(key_begin, t), keys.y - 1));
}

// The key t of the present tile, for masks and terms of scores.
uint tileKey(const uint key_begin, const uint t) {
    if (HAS_CHOSEN_KEYS) {
        return keyOfEntry(tile_entries[t]);
    }
    return keyOfNumber(empty_keys, threadKey(key_begin, t));
}

// Loads entries of the list and page numbers, long before the keys: the addresses of the keys depend on them.
void fetchPages(const uint key_begin) {
    UNROLL for (uint t = 0; t < (HAS_CHOSEN_KEYS ? LANE_GROUP_KEYS : 0); t++) {
        fetched_entries[t] = listEntry(threadKey(key_begin, t), keys.y);
    }
    UNROLL for (uint t = 0; t < LANE_GROUP_KEYS; t++) {
        fetched_pages[t] = pageOf(item.batch, existingKey(key_begin, t));
    }
}

void fetchKeys(const uint key_begin) {
    UNROLL for (uint t = 0; t < LANE_GROUP_KEYS; t++) {
        uvec2 row = keyAddress(k_head, VKF_K, fetched_pages[t], existingKey(key_begin, t));
        UNROLL for (uint i = 0; i < K_LANE_WORDS; i++) {
            fetched_k[t * K_LANE_WORDS + i] = rowWord(row, i * LANES + lane, HEAD_DIM, TYPE_K, LANES);
        }
    }
}

void fetchValues(const uint key_begin) {
    UNROLL for (uint t = 0; t < LANE_GROUP_KEYS; t++) {
        uvec2 row = keyAddress(v_head, VKF_V, fetched_pages[t], existingKey(key_begin, t));
        UNROLL for (uint i = 0; i < V_LANE_WORDS; i++) {
            fetched_v[t * V_LANE_WORDS + i] = rowWord(row, i * LANES + lane, VALUE_DIM, TYPE_V, LANES);
        }
    }
    UNROLL for (uint t = 0; t < (HAS_CHOSEN_KEYS ? LANE_GROUP_KEYS : 0); t++) {
        tile_entries[t] = fetched_entries[t]; // the next tile begins
    }
    tile_absent = 0u;
    UNROLL for (uint t = 0; t < (PAGED ? LANE_GROUP_KEYS : 0); t++) {
        tile_absent |= IS_PAGE(fetched_pages[t]) ? 0u : 1u << t;
    }
}

void forgetKeys() {
    FORGET(fetched_k, 0, LANE_GROUP_KEYS * K_LANE_WORDS, uvec4(0));
}

void forgetValues() {
    FORGET(fetched_v, 0, LANE_GROUP_KEYS * V_LANE_WORDS, uvec4(0));
}

#endif
