// SPDX-License-Identifier: MIT
//
// Lines 4 and 7 of the algorithm (attention_latent.comp): moves q and k from device memory through shared memory.
#ifndef VKF_LATENT_STAGE_GLSL
#define VKF_LATENT_STAGE_GLSL

#include "matrix/query_words.glsl"

// Whether v is a view of k: it has the type, the address and the strides of k.
bool isView() {
    bool same = TYPE_K == TYPE_V && params.k == params.v && params.row_stride[VKF_K] == params.row_stride[VKF_V];
    return same && params.head_stride[VKF_K] == params.head_stride[VKF_V] &&
           params.batch_stride[VKF_K] == params.batch_stride[VKF_V];
}

// Where an entry of the list is staged, in page_stage.
uint stagedEntry(const uint number) {
    return STAGED_PAGES + (number - keys.x) % (2 * TILE_KEYS);
}

// The key of a key number. Past the last key it is the last key again, so that no load reads a key that does not exist.
uint existingKey(const uint key) {
    if (HAS_CHOSEN_KEYS) {
        return keyOfEntry(page_stage[stagedEntry(key)]);
    }
    return keyOfNumber(empty_keys, min(key, keys.y - 1));
}

// The entry of the list for a key of the tile after the one that is fetched next. The page of a key depends on its
// entry, so that entries are loaded a tile earlier.
void fetchEntry(const uint key_begin) {
    if (HAS_CHOSEN_KEYS) {
        next_entry = listEntry(key_begin + thread % TILE_KEYS, keys.y);
    }
}

void fetchPage(const uint key_begin) {
    if (HAS_CHOSEN_KEYS) {
        fetched_entry = next_entry;
    }
    if (PAGED) {
        fetched_page = pageOf(item.batch, HAS_CHOSEN_KEYS ? keyOfEntry(fetched_entry)
                                                          : existingKey(key_begin + thread % TILE_KEYS));
    }
    fetchEntry(key_begin + TILE_KEYS);
}

// Stages what fetchPage has fetched for the tile at key_begin.
void stagePage(const uint key_begin) {
    if (PAGED && thread < TILE_KEYS) {
        page_stage[thread] = fetched_page;
    }
    if (HAS_CHOSEN_KEYS && thread < TILE_KEYS) {
        page_stage[stagedEntry(key_begin + thread)] = fetched_entry;
    }
}

// Sets which keys of the present tile have a page, before stagePage replaces their entries. The pairs of each subgroup
// are all pairs of the tile.
void findPresentKeys() {
    if (PAGED) {
        present = bvec2(IS_PAGE(page_stage[2 * pair]), IS_PAGE(page_stage[2 * pair + 1]));
        all_present = subgroupAll(present.x && present.y);
    }
}

// A load of a row of k or v, which is whole words.
uvec4 fetchedWord(const uvec2 row_address, const uint load, const uint type) {
    if (VKF_IS_BLOCK_TYPE(type)) {
        return loadPiece(row_address, load, type);
    }
    return Word4(add64(row_address, uvec2(load * 16, 0))).value;
}

void fetchKeys(const uint key_begin) {
    UNROLL for (uint i = 0; i < K_FETCHES; i++) {
        uint index = i * WORKGROUP_SIZE + thread;
        uint of_tile = min(index / K_LOADS, TILE_KEYS - 1);
        uint page = PAGED ? page_stage[of_tile] : 0;
        uvec2 address = keyAddress(k_head, VKF_K, page, existingKey(key_begin + of_tile));
        fetched[i] = fetchedWord(address, index % K_LOADS, TYPE_K);
    }
}

void forgetKeys() {
    FORGET(fetched, 0, K_FETCHES, uvec4(0));
}

void stageKeys() {
    UNROLL for (uint i = 0; i < K_FETCHES; i++) {
        uint index = i * WORKGROUP_SIZE + thread;
        if (index < TILE_KEYS * K_LOADS) {
            UNROLL for (uint word = 0; word < K_LOAD_WORDS; word++) {
                stage[index / K_LOADS * STAGE_ROW + wordOfLoad(index % K_LOADS, word, TYPE_K)] =
                    wordOfLoad(fetched[i], word, TYPE_K);
            }
        }
    }
}

void stageQueries() {
    UNROLL for (uint i = 0; i < Q_FETCHES; i++) {
        uint index = i * WORKGROUP_SIZE + thread;
        if (index < TILE_ROWS * K_WORDS) {
            stage[index / K_WORDS * STAGE_ROW + index % K_WORDS] = fetched[i];
        }
    }
}

uvec4 queryWord(const uvec2 row_address, const uint word) {
    if (TYPE_Q == VKF_STORED_F32) {
        return roundedRowWord(row_address, word * 8, HEAD_DIM, true);
    }
    return Word4(add64(row_address, uvec2(word * 16, 0))).value;
}

// Loads rows of q into the registers of keys. Rows that do not exist are zeros.
void fetchQueries() {
    UNROLL for (uint i = 0; i < Q_FETCHES; i++) {
        uint index = i * WORKGROUP_SIZE + thread;
        uint packed_row = item.row_begin + min(index / K_WORDS, TILE_ROWS - 1);
        uint existing = min(packed_row, packedRows(item) - 1);
        uvec2 head = headAddress(params.q, VKF_Q, item.batch, queryHead(item, existing), item.first_row);
        uvec2 address = rowAddress(head, VKF_Q, queryRow(existing));
        uvec4 word = queryWord(address, index % K_WORDS);
        fetched[i] = packed_row == existing ? word : uvec4(0);
    }
}

// Writes zeros to the columns past the last one, for q and for k.
void clearStage() {
    if (STAGE_ROW - 1 > K_WORDS) {
        KEEP_LOOP for (uint i = thread; i < TILE_KEYS * STAGE_ROW; i += WORKGROUP_SIZE) {
            stage[i] = uvec4(0);
        }
        barrier();
    }
}

// The subgroup's matrix of rows, its matrix of keys, and the first word of its columns of q and k, for line 8.
uint rowTile() {
    return subgroup / ROW_PARTIALS;
}

uint keyMatrix() {
    return subgroup / DEPTH_SUBGROUPS % KEY_MATRICES;
}

uint firstDepth() {
    return subgroup % DEPTH_SUBGROUPS * DIM_MATRICES * SIDE_WORDS;
}

// Line 4: q to registers, while the first keys are in flight.
void loadQueries() {
    fetchEntry(keys.x);
    fetchPage(keys.x);
    fetchQueries();
    clearStage();
    stagePage(keys.x);
    stageQueries();
    barrier();
    fetchKeys(keys.x);
    fetchPage(keys.x + TILE_KEYS);
    UNROLL for (uint i = 0; i < DIM_MATRICES; i++) {
        coopMatLoad(q_matrix[i], stage, rowTile() * MATRIX_ROWS * STAGE_ROW + firstDepth() + i * SIDE_WORDS, STAGE_ROW,
                    gl_CooperativeMatrixLayoutRowMajor);
    }
}

#endif
