// SPDX-License-Identifier: MIT
//
// The way of q, k and v from device memory to shared memory, as fp32 whatever the storage type, in two
// halves: fetch into registers, all loads in flight at once, and place in shared memory. A kernel fetches
// the next piece, multiplies the present one, and places the next when everybody is done.
//
// Rows and columns that do not exist, and keys that no row may see, become zeros; their bytes are never
// read: an invocation that has nothing to fetch repeats a neighbour's load and drops it.
#ifndef VKF_STAGE_GLSL
#define VKF_STAGE_GLSL

const uint STAGED_WORDS = VKF_STAGED_ROW_WORDS(CHUNK_DIM4);
const uint HEAD_DIM4 = (HEAD_DIM + 3) / 4;
const uint VALUE_ROW_WORDS = (VALUE_DIM + 3) / 4;

// Words that an invocation fetches of each piece.
const uint Q_FETCHES = (TILE_ROWS * CHUNK_DIM4 + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint K_FETCHES = (TILE_KEYS * CHUNK_DIM4 + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint V_FETCHES = (CHUNK_KEYS * VALUE_DIM4 + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;

shared vec4 kv_stage[VKF_MAX_WORDS(VKF_K_WORDS(TILE_KEYS, CHUNK_DIM4), VKF_V_WORDS(CHUNK_KEYS, VALUE_DIM4))];

vec4 fetched[Q_FETCHES + VKF_MAX_WORDS(K_FETCHES, V_FETCHES)]; // q, then k or v

// One head of a tensor.
struct Rows {
    uvec2 address; // of row 0
    bool vectors;  // four elements can be loaded at once, everywhere
};

Rows rowsOf(uvec2 base, uint tensor, uint type, uint dim, uint batch, uint head) {
    uvec2 address = headAddress(base, tensor, batch, head);
    return Rows(address, dim % 4 == 0 && isAligned4(address, params.row_stride[tensor], type));
}

// Fetches words [first_word, first_word + words) of `rows` rows from first_row on, of which those in
// `range`, which is not empty, exist. dim is the row's length in elements.
void fetch(Rows source, uint tensor, uint type, uint dim, ivec2 range, uint first_row, uint rows, uint first_word,
           uint words, uint slot, uint thread) {
    uint last_word = (dim + 3) / 4 - 1;
    if (source.vectors) {
        [[unroll]] for (uint i = 0; i * WORKGROUP_SIZE < rows * words; i++) {
            uint place = i * WORKGROUP_SIZE + thread;
            uint row = uint(clamp(int(first_row + place / words), range.x, range.y - 1));
            uint word = min(first_word + place % words, last_word);
            uvec2 address = rowAddress(source.address, tensor, row);
            fetched[slot + i] = loadAligned4(add64(address, uvec2(word * 4 * elementBytes(type), 0)), type);
        }
    } else {
        [[unroll]] for (uint i = 0; i * WORKGROUP_SIZE < rows * words; i++) {
            uint place = i * WORKGROUP_SIZE + thread;
            uint row = uint(clamp(int(first_row + place / words), range.x, range.y - 1));
            uint word = min(first_word + place % words, last_word);
            fetched[slot + i] = loadRow4(rowAddress(source.address, tensor, row), word * 4, dim, type);
        }
    }
}

// What fetch i of the same call left, or zeros where it stands for nothing.
vec4 fetchedWord(uint dim, ivec2 range, uint first_row, uint first_word, uint words, uint slot, uint i, uint place) {
    uint row = first_row + place / words;
    uint word = first_word + place % words;
    bool exists = isVisible(range, row) && word * 4 < dim;
    return exists ? fetched[slot + i] : vec4(0.0);
}

// Columns [4 CHUNK_DIM4 chunk, ...) of TILE_KEYS rows of k.
void fetchK(Rows k, ivec2 any, uint key_begin, uint chunk, uint thread) {
    fetch(k, VKF_K, TYPE_K, HEAD_DIM, any, key_begin, TILE_KEYS, chunk * CHUNK_DIM4, CHUNK_DIM4, Q_FETCHES, thread);
}

void placeK(ivec2 any, uint key_begin, uint chunk, uint thread) {
    [[unroll]] for (uint i = 0; i < K_FETCHES; i++) {
        uint place = i * WORKGROUP_SIZE + thread;
        if (place < TILE_KEYS * CHUNK_DIM4) {
            kv_stage[place / CHUNK_DIM4 * STAGED_WORDS + place % CHUNK_DIM4] =
                fetchedWord(HEAD_DIM, any, key_begin, chunk * CHUNK_DIM4, CHUNK_DIM4, Q_FETCHES, i, place);
        }
    }
}

// All columns of CHUNK_KEYS rows of v.
void fetchV(Rows v, ivec2 any, uint key_begin, uint thread) {
    fetch(v, VKF_V, TYPE_V, VALUE_DIM, any, key_begin, CHUNK_KEYS, 0, VALUE_DIM4, Q_FETCHES, thread);
}

void placeV(ivec2 any, uint key_begin, uint thread) {
    [[unroll]] for (uint i = 0; i < V_FETCHES; i++) {
        uint place = i * WORKGROUP_SIZE + thread;
        if (place < CHUNK_KEYS * VALUE_DIM4) {
            kv_stage[place] = fetchedWord(VALUE_DIM, any, key_begin, 0, VALUE_DIM4, Q_FETCHES, i, place);
        }
    }
}

#endif
