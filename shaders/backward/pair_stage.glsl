// SPDX-License-Identifier: MIT
//
// Moves what is owned and what is visited from device memory to shared memory, as scalar/stage.glsl does: a fetch loads
// a complete piece into registers, a second step writes it to shared memory. A piece that is not complete is loaded
// when it is staged.
//
//     owned_stage    OWNED x (4 CHUNK_DIM4), columns of the owned rows of q and dout, or keys of k and v
//     visited_stage  VISITED x (4 CHUNK_DIM4), the same columns of what is visited; or CHUNK_VISITED complete rows
#ifndef VKF_PAIR_STAGE_GLSL
#define VKF_PAIR_STAGE_GLSL

const uint STAGED_WORDS = CHUNK_DIM4 + 1;
const uint OWNED_FETCHES = (OWNED * CHUNK_DIM4 + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint VISITED_FETCHES = (VISITED * CHUNK_DIM4 + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint QK_WORDS = (HEAD_DIM + 3) / 4;
const uint DOV_WORDS = (VALUE_DIM + 3) / 4;
const uint SUMMAND_WORDS = VKF_MAX_WORDS((SUMS_DQK ? QK_WORDS : 0), (SUMS_DV ? DOV_WORDS : 0));
const uint SUMMAND_FETCHES = (CHUNK_VISITED * SUMMAND_WORDS + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;

shared vec4 owned_stage[VKF_BACKWARD_OWNED_WORDS(OWNED, CHUNK_DIM4)];
shared vec4 visited_stage[VKF_BACKWARD_VISITED_WORDS(VISITED, CHUNK_DIM4, CHUNK_VISITED, LANES * MAX_COLUMNS4)];

vec4 fetched[VKF_MAX_WORDS(OWNED_FETCHES + VISITED_FETCHES, SUMMAND_FETCHES)];

// Rows of the tile's attention head: of q or k, and of dout or v (backward_coopmat/globals.glsl, qk and dov). A
// workgroup that owns keys owns k and v and visits q and dout; another owns q and dout and visits k and v.
Rows owned_qk, owned_dov, visited_qk, visited_dov;

#define VKF_TYPE_OWNED_QK (OWNS_KEYS ? TYPE_K : TYPE_Q)
#define VKF_TYPE_OWNED_DOV (OWNS_KEYS ? TYPE_V : TYPE_DOUT)
#define VKF_TYPE_VISITED_QK (OWNS_KEYS ? TYPE_Q : TYPE_K)
#define VKF_TYPE_VISITED_DOV (OWNS_KEYS ? TYPE_DOUT : TYPE_V)

// Fetches 4 CHUNK_DIM4 columns of the owned and of the visited tile, from column 4 CHUNK_DIM4 chunk on.
void fetchColumns(const Rows owned, const uint owned_type, const uint owned_first, const Rows visited,
                  const uint visited_type, const uint visited_first, const uint dim, const uint chunk) {
    if (isComplete(owned, owned_first, OWNED, chunk * CHUNK_DIM4, CHUNK_DIM4, dim)) {
        uvec2 piece = pieceAddress(owned, owned_type, owned_first, chunk * CHUNK_DIM4);
        UNROLL for (uint i = 0; i < OWNED_FETCHES; i++) {
            uint index = min(i * WORKGROUP_SIZE + thread, OWNED * CHUNK_DIM4 - 1);
            fetched[i] = fetchWord(piece, owned.row_stride, owned_type, index / CHUNK_DIM4, index % CHUNK_DIM4);
        }
    }
    if (isComplete(visited, visited_first, VISITED, chunk * CHUNK_DIM4, CHUNK_DIM4, dim)) {
        uvec2 piece = pieceAddress(visited, visited_type, visited_first, chunk * CHUNK_DIM4);
        UNROLL for (uint i = 0; i < VISITED_FETCHES; i++) {
            uint index = min(i * WORKGROUP_SIZE + thread, VISITED * CHUNK_DIM4 - 1);
            fetched[OWNED_FETCHES + i] =
                fetchWord(piece, visited.row_stride, visited_type, index / CHUNK_DIM4, index % CHUNK_DIM4);
        }
    }
}

void stageColumns(const Rows owned, const uint owned_type, const uint owned_first, const Rows visited,
                  const uint visited_type, const uint visited_first, const uint dim, const uint chunk) {
    if (isComplete(owned, owned_first, OWNED, chunk * CHUNK_DIM4, CHUNK_DIM4, dim)) {
        UNROLL for (uint i = 0; i < OWNED_FETCHES; i++) {
            uint index = i * WORKGROUP_SIZE + thread;
            if (index < OWNED * CHUNK_DIM4) {
                owned_stage[index / CHUNK_DIM4 * STAGED_WORDS + index % CHUNK_DIM4] = fetched[i];
            }
        }
    } else {
        KEEP_LOOP for (uint index = thread; index < OWNED * CHUNK_DIM4; index += WORKGROUP_SIZE) {
            uint row = index / CHUNK_DIM4;
            uint word = index % CHUNK_DIM4;
            owned_stage[row * STAGED_WORDS + word] =
                loadWord(owned, owned_type, dim, owned_first + row, chunk * CHUNK_DIM4 + word);
        }
    }
    if (isComplete(visited, visited_first, VISITED, chunk * CHUNK_DIM4, CHUNK_DIM4, dim)) {
        UNROLL for (uint i = 0; i < VISITED_FETCHES; i++) {
            uint index = i * WORKGROUP_SIZE + thread;
            if (index < VISITED * CHUNK_DIM4) {
                visited_stage[index / CHUNK_DIM4 * STAGED_WORDS + index % CHUNK_DIM4] = fetched[OWNED_FETCHES + i];
            }
        }
    } else {
        KEEP_LOOP for (uint index = thread; index < VISITED * CHUNK_DIM4; index += WORKGROUP_SIZE) {
            uint row = index / CHUNK_DIM4;
            uint word = index % CHUNK_DIM4;
            visited_stage[row * STAGED_WORDS + word] =
                loadWord(visited, visited_type, dim, visited_first + row, chunk * CHUNK_DIM4 + word);
        }
    }
}

// Fetches all columns of CHUNK_VISITED visited rows or keys, from row `first` on.
void fetchSummands(const Rows visited, const uint type, const uint first, const uint words, const uint dim) {
    if (isComplete(visited, first, CHUNK_VISITED, 0, words, dim)) {
        uvec2 piece = pieceAddress(visited, type, first, 0);
        UNROLL for (uint i = 0; i < SUMMAND_FETCHES; i++) {
            uint index = min(i * WORKGROUP_SIZE + thread, CHUNK_VISITED * words - 1);
            fetched[i] = fetchWord(piece, visited.row_stride, type, index / words, index % words);
        }
    }
}

// Stores what fetchSummands fetched to shared memory, in rows of `stride` words.
void stageSummands(const Rows visited, const uint type, const uint first, const uint words, const uint dim,
                   const uint stride) {
    if (isComplete(visited, first, CHUNK_VISITED, 0, words, dim)) {
        UNROLL for (uint i = 0; i < SUMMAND_FETCHES; i++) {
            uint index = i * WORKGROUP_SIZE + thread;
            if (index < CHUNK_VISITED * words) {
                visited_stage[index / words * stride + index % words] = fetched[i];
            }
        }
    } else {
        KEEP_LOOP for (uint index = thread; index < CHUNK_VISITED * words; index += WORKGROUP_SIZE) {
            uint row = index / words;
            visited_stage[row * stride + index % words] = loadWord(visited, type, dim, first + row, index % words);
        }
    }
}

#endif
