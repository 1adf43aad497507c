// SPDX-License-Identifier: MIT
//
// Stores ds, or p and ds, of a band for backward_sums.comp (backward/bands.glsl). A matrix has owned keys as rows.
//
// If this kernel makes sums too, a ds past the largest fp16 has a factor (matrix_gradients.glsl), which
// backward_sums.comp does not know. Kernels that store nothing then compute all sums again.
//
// Needs: backward_coopmat/stored_matrices.glsl, backward_coopmat/globals.glsl, backward/walk.glsl,
// backward/backward_table.glsl.
// Provides: beginBand, beginPairs, storePairs, askForFallback.
#ifndef VKF_STORE_PAIRS_GLSL
#define VKF_STORE_PAIRS_GLSL

#include "common/marks.glsl"

layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer StoredPairs {
    uvec4 word[];
};

uint stored_head;       // number of the walk's KV head among those of its pass
StoredTile stored_tile; // of the owned keys
uint stored_word;       // the first word of the subgroup's first matrix of the present tile

void beginBand() {
    if (STORES_DS) {
        stored_head = (item.batch * VKF_BACKWARD_TABLE.kv_heads + item.kv_head) % BAND_HEADS;
        stored_tile = storedTile(item, key_begin, key_begin / TILE_KEYS % BAND_TILES);
    }
}

// The walk's tile becomes the present one.
void beginPairs() {
    if (STORES_DS) {
        uint head = stored_head * KV_HEAD_QUERY_HEADS + item.head % KV_HEAD_QUERY_HEADS;
        stored_word = head * STORED_HEAD_WORDS + storedWord(stored_tile, ownedFirst(), item.row_begin);
    }
}

// Stores matrices of a step, `operands` being the first one. It is a macro, because NVIDIA's compiler keeps arrays of
// matrices in memory if a function that it does not inline uses them.
#define VKF_PACK(i, e) packFloat2x16(f16vec2(operand_tile[i][e], operand_tile[i][(e) + 1]))
#define VKF_STORE_OPERANDS(operands, pairs)                                                                         \
    UNROLL for (uint r = 0; r < OWNED_TILES; r++) {                                                                  \
        UNROLL for (uint depth = 0; depth < STEP_DEPTHS; depth++) {                                                  \
            const uint i = ((operands) + r) * STEP_DEPTHS + depth;                                                   \
            uint place = first + r * STORED_KEY_STEP + depth * STORED_WORDS;                                         \
            if (PAIRS_BY_LANE) {                                                                                     \
                UNROLL for (uint e = 0; e < LANE_WORDS * 8; e += 8) {                                                \
                    StoredPairs(pairs).word[place + lane * LANE_WORDS + e / 8] =                                     \
                        uvec4(VKF_PACK(i, e), VKF_PACK(i, e + 2), VKF_PACK(i, e + 4), VKF_PACK(i, e + 6));           \
                }                                                                                                    \
            } else {                                                                                                 \
                coopMatStore(operand_tile[i], StoredPairs(pairs).word, place, STORED_ROW,                            \
                             gl_CooperativeMatrixLayoutRowMajor);                                                    \
            }                                                                                                        \
        }                                                                                                            \
    }

// Stores ds of a step, and p. If two subgroups have the same keys, the first one stores.
void storePairs(const uint step) {
    if (!STORES_DS || !NEEDS_DP) {
        return;
    }
    if (DEPTH_SUBGROUPS == 1 || UNIFORM_BY_VOTE(columnShare() == 0)) {
        uint first = stored_word + step * STEP_DEPTHS * STORED_WORDS;
        if (STORES_P) {
            VKF_STORE_OPERANDS(0, VKF_BACKWARD_TABLE.p)
        }
        VKF_STORE_OPERANDS(OWNED_TILES, VKF_BACKWARD_TABLE.ds)
    }
}

void askForFallback(const bool needed) {
    if (STORES_DS && needed) {
        VKF_MARK_BUFFER(VKF_WANTS_FALLBACK, 1u);
    }
}

#endif
