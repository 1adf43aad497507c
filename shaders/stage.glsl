// SPDX-License-Identifier: MIT
//
// Copies of k and v in shared memory, as fp32 whatever the storage type. Rows and columns that do
// not exist, and keys that no row may see, are zeros: their bytes are never read.
#ifndef VKF_STAGE_GLSL
#define VKF_STAGE_GLSL

const uint STAGED_WORDS = VKF_STAGED_ROW_WORDS(CHUNK_DIM4);

shared vec4 kv_stage[VKF_MAX_WORDS(VKF_K_WORDS(TILE_KEYS, CHUNK_DIM4), VKF_V_WORDS(CHUNK_KEYS, VALUE_DIM4))];

// One head of a tensor, as far as staging needs to know it.
struct Rows {
    uvec2 address; // of row 0
    bool aligned4;
};

Rows rowsOf(uvec2 base, uint tensor, uint type, uint batch, uint head) {
    uvec2 address = headAddress(base, tensor, batch, head);
    return Rows(address, isAligned4(address, params.row_stride[tensor], type));
}

// Columns [chunk * 4 * CHUNK_DIM4, ...) of TILE_KEYS rows of k from key_begin on, of which those in
// `any` may be read.
void stageK(Rows k, ivec2 any, uint key_begin, uint chunk, uint thread) {
    [[unroll]] for (uint i = 0; i < TILE_KEYS * CHUNK_DIM4; i += WORKGROUP_SIZE) {
        uint word = i + thread;
        uint row = word / CHUNK_DIM4;
        uint column4 = word % CHUNK_DIM4;
        if (word < TILE_KEYS * CHUNK_DIM4) {
            vec4 x = vec4(0.0);
            if (isVisible(any, key_begin + row)) {
                uvec2 address = rowAddress(k.address, VKF_K, key_begin + row);
                x = loadRow4(address, (chunk * CHUNK_DIM4 + column4) * 4, HEAD_DIM, TYPE_K, k.aligned4);
            }
            kv_stage[row * STAGED_WORDS + column4] = x;
        }
    }
}

// All columns of CHUNK_KEYS rows of v from key_begin on.
void stageV(Rows v, ivec2 any, uint key_begin, uint thread) {
    [[unroll]] for (uint i = 0; i < CHUNK_KEYS * VALUE_DIM4; i += WORKGROUP_SIZE) {
        uint word = i + thread;
        uint row = word / VALUE_DIM4;
        uint column4 = word % VALUE_DIM4;
        if (word < CHUNK_KEYS * VALUE_DIM4) {
            vec4 x = vec4(0.0);
            if (isVisible(any, key_begin + row)) {
                uvec2 address = rowAddress(v.address, VKF_V, key_begin + row);
                x = loadRow4(address, column4 * 4, VALUE_DIM, TYPE_V, v.aligned4);
            }
            kv_stage[word] = x;
        }
    }
}

#endif
