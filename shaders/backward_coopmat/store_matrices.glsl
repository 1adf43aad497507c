// SPDX-License-Identifier: MIT
//
// Writes what a subgroup computed: pairs to the bands in scratch memory, and sums without rows and columns that do not
// exist. Two matrices of sums at a time pass through the subgroup's part of shared memory, where every element has a
// known row and column.
#ifndef VKF_STORE_MATRICES_GLSL
#define VKF_STORE_MATRICES_GLSL

#include "common/compilers.glsl"

// Stores ds, or p and ds, of a band for backward_sums.comp (backward/bands.glsl). A matrix has owned keys as rows.
//
// If this kernel makes sums too, a ds past the largest fp16 has a factor (pair_matrices.glsl), which
// backward_sums.comp does not know. Kernels that store nothing then compute all sums again.

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

// The walk's tile becomes the current one.
void beginPairs() {
    if (STORES_DS) {
        uint head = stored_head * KV_HEAD_QUERY_HEADS + item.head % KV_HEAD_QUERY_HEADS;
        stored_word = head * STORED_HEAD_WORDS + storedWord(stored_tile, ownedFirst(), item.row_begin);
    }
}

// Stores matrices of a step, `operands` being the first one. It is a macro, because NVIDIA's compiler keeps arrays of
// matrices in memory if a function that it does not inline uses them.
#define VKF_PACK(i, e) packFloat2x16(f16vec2(operand_matrix[i][e], operand_matrix[i][(e) + 1]))
#define VKF_STORE_OPERANDS(operands, pairs)                                                                            \
    UNROLL for (uint r = 0; r < OWNED_MATRICES; r++) {                                                                 \
        UNROLL for (uint slice = 0; slice < STEP_SLICES; slice++) {                                                    \
            const uint i = ((operands) + r) * STEP_SLICES + slice;                                                     \
            uint index = first + r * STORED_KEY_STRIDE + slice * STORED_WORDS;                                         \
            if (PAIRS_BY_LANE) {                                                                                       \
                UNROLL for (uint e = 0; e < LANE_WORDS * 8; e += 8) {                                                  \
                    StoredPairs(pairs).word[index + lane * LANE_WORDS + e / 8] =                                       \
                        uvec4(VKF_PACK(i, e), VKF_PACK(i, e + 2), VKF_PACK(i, e + 4), VKF_PACK(i, e + 6));             \
                }                                                                                                      \
            } else {                                                                                                   \
                coopMatStore(operand_matrix[i], StoredPairs(pairs).word, index, STORED_ROW,                            \
                             gl_CooperativeMatrixLayoutRowMajor);                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

// Stores ds of a step, and p. If two subgroups have the same keys, the first one stores.
void storePairs(const uint step) {
    if (!STORES_DS || !NEEDS_DP) {
        return;
    }
    if (DEPTH_SUBGROUPS == 1 || UNIFORM_BY_VOTE(columnShare() == 0)) {
        uint first = stored_word + step * STEP_SLICES * STORED_WORDS;
        if (STORES_P) {
            VKF_STORE_OPERANDS(0, VKF_BACKWARD_TABLE.p)
        }
        VKF_STORE_OPERANDS(OWNED_MATRICES, VKF_BACKWARD_TABLE.ds)
    }
}

void askForFallback(const bool needed) {
    if (STORES_DS && needed) {
        VKF_SET_BUFFER_FLAG(VKF_WANTS_FALLBACK, 1u);
    }
}

const uint MATRIX_WORDS = MATRIX_ROWS * MATRIX_COLUMNS / 4; // words of a matrix in fp32
const uint STORED_MATRICES = 2;                             // at once; SUBGROUP_WORDS is large enough for them

// Stores four columns of an owned row or key of dq or dk. `states`: of the rows.
void storeDqk(const BackwardRows rows, const uvec2 states, const float factor, const uint index, const uint column,
              const vec4 sum) {
    uint row = ownedBegin() + index;
    if (row >= (OWNS_KEYS ? stored_keys : SEQUENCE_ROWS(item)) || column >= HEAD_DIM) {
        return;
    }
    const uint type = OWNS_KEYS ? TYPE_DK : TYPE_DQ;
    bool empty = !OWNS_KEYS && loadRowState(states, item, row).x == PLUS_INFINITY;
    uvec2 address = backwardRow(rows, row);
    storeRow4(address, column, HEAD_DIM, type, isAligned4(address, 0, type), empty ? vec4(0.0) : sum * factor);
}

// Stores four columns of an owned key of dv.
void storeDv(const BackwardRows rows, const uint index, const uint column, const vec4 sum) {
    uint key = key_begin + index;
    if (key >= stored_keys || column >= VALUE_DIM) {
        return;
    }
    uvec2 address = backwardRow(rows, key);
    storeRow4(address, column, VALUE_DIM, TYPE_DV, isAligned4(address, 0, TYPE_DV), sum * scaledByDropout(1.0));
}

// The outer loop stays a loop, and the loop inside selects its matrices by comparing numbers: coopmat/output.glsl
// gives the reasons.
void storeSums() {
    bool special = UNIFORM_BY_VOTE(special_values);
    uint begin = subgroup * SUBGROUP_WORDS;
    float factor = VKF_BACKWARD_TABLE.scale / ds_factor;
    uvec2 states = VKF_BACKWARD_TABLE.row_state;
    BackwardRows dqk_rows, dv_rows;
    if (OWNS_KEYS) {
        dqk_rows = backwardRows(VKF_BACKWARD_TABLE.dk, item.partial_result, item.kv_head, item.first_key);
        dv_rows = backwardRows(VKF_BACKWARD_TABLE.dv, item.partial_result, item.kv_head, item.first_key);
    } else {
        dqk_rows = backwardRows(VKF_BACKWARD_TABLE.dq, item.partial_result, item.head, item.first_row);
    }
    KEEP_LOOP for (uint first = 0; first < SUMS; first += STORED_MATRICES) {
        UNROLL for (uint i = 0; i < SUMS; i++) {
            if (i / STORED_MATRICES == first / STORED_MATRICES) {
                coopMatStore(sum_matrix[i], stage, begin + i % STORED_MATRICES * MATRIX_WORDS, MATRIX_COLUMNS / 4,
                             gl_CooperativeMatrixLayoutRowMajor);
            }
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        UNROLL for (uint i = 0; i < STORED_MATRICES * MATRIX_WORDS / LANES; i++) {
            uint index = i * LANES + lane;
            uint matrix = first + index / MATRIX_WORDS;
            bool is_dqk = matrix >= FIRST_DQK_SUM;
            uint number = is_dqk ? matrix - FIRST_DQK_SUM : matrix;
            uint columns = is_dqk ? DQK_COLUMNS : DV_COLUMNS;
            uint owned = ownedFirst() + number / columns * MATRIX_ROWS + index % MATRIX_WORDS / (MATRIX_COLUMNS / 4);
            uint column =
                (columnShare() * columns + number % columns) * MATRIX_COLUMNS + index % (MATRIX_COLUMNS / 4) * 4;
            vec4 sum = uintBitsToFloat(stage[begin + index]);
            if (special && OWNS_KEYS && !is_dqk && key_begin + owned < item.keys) {
                sum += specialDv(key_begin + owned, column);
            }
            if (special && !OWNS_KEYS && item.row_begin + owned < SEQUENCE_ROWS(item)) {
                sum += specialDq(item.row_begin + owned, column);
            }
            if (is_dqk && matrix < SUMS) {
                storeDqk(dqk_rows, states, factor, owned, column, sum);
            } else if (!is_dqk) {
                storeDv(dv_rows, owned, column, sum);
            }
        }
        subgroupBarrier();
    }
}

#endif
